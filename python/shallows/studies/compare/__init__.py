"""Schemes on the same experiment, seed by seed: which differences are real."""
