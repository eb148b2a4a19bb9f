"""The soak: random experiments, mutated documents, killed sweeps, damaged stores; `make soak HOURS=1`."""
