"""The typed classes of an experiment, with completion and documentation."""

from shallows.experiment import _classes
from shallows.experiment._classes import *  # noqa: F403
from shallows.experiment.base import CustomPart, Part, WholeExperiment

__all__ = [*_classes.__all__, "CustomPart", "Part", "WholeExperiment"]
