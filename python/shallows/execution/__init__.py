"""Making runs: one, many, in threads, in processes, on a cluster."""
