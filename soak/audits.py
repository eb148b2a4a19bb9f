"""Random experiments with all that an audit reads: no rule rejects the run."""

from __future__ import annotations

import random

from shallows.audit import audit
from shallows.document.load import load
from shallows.document.points import expand
from shallows.errors import SpecError
from shallows.tables.frames import to_frame

from soak import experiments
from soak.runs import Document, finished

ROWS = 200_000
"""A run whose traces are longer ends in words, and is not audited."""


def draw(draws: random.Random) -> Document | None:
    """A legal experiment with the traces of an audit and no warm-up, or None where there is none."""
    document = experiments.draw(draws)
    return None if document is None or "python" in document else traced(document)


def traced(document: Document) -> Document | None:
    """The experiment with the traces of an audit, or None where it is not legal with them."""
    try:
        [point] = expand(load(document | {"warmup": "0s", "probe": {"audit": True, "trace_rows": ROWS}}))
    except SpecError:
        return None
    return point.experiment


def faults(experiment: Document) -> list[str]:
    """The rules that a run breaks. A run that fails is a finding of the part `runs`."""
    ended = finished(experiment)
    if not isinstance(ended, tuple):
        return []
    frames = {name: to_frame(columns) for name, columns in ended[0].items()}
    return [str(one) for one in audit(frames, experiment).rejected]
