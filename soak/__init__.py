"""The soak: random experiments, mutated documents, killed sweeps, damaged stores; `make soak HOURS=1`."""

from soak import core  # before anything of Shallows: it may choose the build of the core

__all__ = ["core"]
