"""Programs of this machine over a network: their start, and their results."""
