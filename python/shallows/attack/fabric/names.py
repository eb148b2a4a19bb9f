"""The names of a fabric's searches, apart from their code, so that the command line need not load it."""

from enum import StrEnum

__all__ = ["Search"]


class Search(StrEnum):
    """A search of `attack --fabric`."""

    cable = "cable"
    cables = "cables"
    storm = "storm"
    deadlock = "deadlock"
    victim = "victim"
    incast = "incast"
    collision = "collision"
    placement = "placement"
