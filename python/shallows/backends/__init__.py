"""What runs an experiment: the simulator, Linux in virtual time, ns-3."""
