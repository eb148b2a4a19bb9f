"""Closed forms for comparison with the simulator, each with its paper and equation.

>>> from shallows import theory
>>> theory.evaluate("dctcp", ["rate=10Gbps", "k=65"])["outputs"]["queue_max_packets"]
67.0
"""

from shallows.theory import (
    acks,
    aimd,
    collective,
    dcqcn,
    dctcp,
    disciplines,
    fct,
    headroom,
    limit_cycle,
    mg1,
    queueing,
    reno,
    rounds,
    steady_state,
    timely,
)
from shallows.theory.registry import ClosedForm, Input, evaluate, forms

__all__ = [
    "ClosedForm",
    "Input",
    "acks",
    "aimd",
    "collective",
    "dcqcn",
    "dctcp",
    "disciplines",
    "evaluate",
    "fct",
    "forms",
    "headroom",
    "limit_cycle",
    "mg1",
    "queueing",
    "reno",
    "rounds",
    "steady_state",
    "timely",
]
