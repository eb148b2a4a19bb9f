"""Runs on a dask cluster, or in jobs asked of Slurm."""
