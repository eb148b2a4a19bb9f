"""Figures of papers, their claims with verdicts, and the report."""
