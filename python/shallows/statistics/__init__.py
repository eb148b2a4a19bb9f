"""Estimates with intervals, tests and ranks."""
