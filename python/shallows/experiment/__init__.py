"""The typed classes of an experiment: what an experiment file says, with completion and documentation."""

from shallows.experiment._classes import *  # noqa: F403
from shallows.experiment._classes import __all__ as __all__
