"""Runs on a dask cluster, or in Slurm jobs."""
