"""Closed forms that the simulator is held against, each naming its paper and equation.

>>> from shallows import theory
>>> theory.evaluate("dctcp", ["rate=10Gbps", "k=65"])["outputs"]["queue_max_packets"]
67.0
"""

from shallows.theory import dctcp, fct, queueing, reno
from shallows.theory.registry import ClosedForm, Input, evaluate, forms

__all__ = ["ClosedForm", "Input", "dctcp", "evaluate", "fct", "forms", "queueing", "reno"]
