"""Results from many runs: comparisons, tuning studies, papers, validation; each with its report."""
