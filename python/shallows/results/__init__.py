"""Stored runs: the store, captures for Wireshark, and how notebooks show results."""
