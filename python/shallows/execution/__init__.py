"""Execution of runs: in threads, in processes, on a cluster."""
