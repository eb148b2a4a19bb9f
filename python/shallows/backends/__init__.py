"""Backends, the programs that execute an experiment: the simulator, Linux in virtual time, ns-3."""
