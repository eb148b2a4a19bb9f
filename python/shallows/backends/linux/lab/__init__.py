"""Programs of this machine over a network: what starts them, and their results."""
