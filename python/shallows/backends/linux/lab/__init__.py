"""Programs of this machine over a network: what starts them, and what is told of them."""
