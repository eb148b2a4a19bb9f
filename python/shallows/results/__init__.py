"""Stored runs: the store, captures for Wireshark, and notebook displays."""
