"""Algorithms written in Python, to read and to copy."""
