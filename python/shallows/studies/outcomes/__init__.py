"""Reports of `run` and `sweep`: results in rows, figures, and every setting with its source."""
