"""A kit: an experiment or a paper with all that a reviewer needs to repeat it, as one zip."""
