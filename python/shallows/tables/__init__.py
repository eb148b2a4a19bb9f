"""A run's tables, and the numbers computed from them."""
