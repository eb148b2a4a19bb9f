"""Results from many runs: comparisons, tuning studies, papers, validation; each with its report."""

from shallows.studies.paper.figure import Figure

__all__ = ["Figure"]
