"""Formats that describe one link over time."""
