"""Congestion controls, workloads and topologies that users write in Python."""
