"""Mutated documents through the checker: an answer in words, within a second, and never a panic.

Seeds are all experiments of the project. A mutation keeps the structure: a value of another kind or at an
edge, a key that moves, is lost or is doubled, two experiments grafted. One in eight mutates bytes.
"""

from __future__ import annotations

import copy
import json
import random
import time
import tomllib
from functools import cache
from typing import Any

from shallows import _core
from shallows.document.paths import set_path
from shallows.document.places import experiments_path
from shallows.errors import ShallowsError

ODD: tuple[Any, ...] = (
    "", "\u0020", "0", "-1", "none", "NaN", "1e999", "0s", "1ps", "99999999999s", "-5us", "0bps",
    "1Tbps", "400Gbps", "1B", "0B", "18446744073709551615B", "1pkt", "0pkt", "1e3pkt", "*", "s*",
    "s0..s99999", "[", "a->b", "\x00", "é" * 50, 0, 1, -1, 2, 3, 10, 1000, 2**31, 2**32, 2**53 + 1,
    2**63 - 1, -(2**63), 2**64 - 1, 0.0, -0.0, 0.5, 1.0, 1e-300, 1e300, True, False, [], [[]], ["s0"],
    [1, 2], {}, {"kind": "dctcp"}, {"": 1}, None,
)  # fmt: skip

MOST_S = 2.0
"""A longer answer is a finding; most take a tenth of a millisecond."""


@cache
def seeds() -> list[dict[str, Any]]:
    """The project's experiments, without the sections that make several runs of one."""
    found = []
    for path in sorted(experiments_path().rglob("*.toml")):
        document = tomllib.loads(path.read_text("utf-8"))
        if "topology" in document:
            kept = {
                key: value
                for key, value in document.items()
                if key not in ("sweep", "seeds", "tune", "compare")
            }
            found.append(kept | {"seed": 1})
    return found


def draw(draws: random.Random) -> str:
    """A mutated document as JSON, or as text that once was JSON."""
    document = copy.deepcopy(draws.choice(seeds()))
    for _ in range(draws.choice([1, 1, 2, 3, 6])):
        _mutate(draws, document)
    text = json.dumps(document)
    if draws.random() < 0.125:
        at = draws.randrange(len(text))
        text = (
            text[:at]
            + draws.choice(["", "\0", '"', "{", "}", "[", "9" * 400, "\\ud800", "é"])
            + text[at + 1 :]
        )
    return text


def _mutate(draws: random.Random, document: dict[str, Any]) -> None:
    table = document
    while True:
        inner = [value for value in table.values() if isinstance(value, dict) and value]
        if not inner or draws.random() < 0.3:
            break
        table = draws.choice(inner)
    keys = list(table) or [""]
    key, way = draws.choice(keys), draws.random()
    if way < 0.5:
        table[key] = copy.deepcopy(draws.choice(ODD))  # a later mutation may go into it
    elif way < 0.6:
        table.pop(key, None)
    elif way < 0.75:
        near = draws.choice([key + "x", key[:-1], key.upper(), "kind", "limit", "rate", "from", "seed"])
        table[near] = copy.deepcopy(draws.choice(ODD))
    elif way < 0.9:
        graft = draws.choice(seeds())
        name = draws.choice(list(graft))
        document[name] = copy.deepcopy(graft[name])
    else:
        value = table.get(key)
        copies = draws.choice([0, 1, 2, 1000])
        if len(json.dumps(value)) > 10_000:
            copies = min(copies, 2)  # a thousand of a thousand of a thousand fill any memory
        table[key] = [value] * copies if draws.random() < 0.5 else {key: value}


def faults(text: str) -> list[str]:
    """The fault of the checker's answer; nothing for a good one."""
    began = time.thread_time()
    try:
        answer = json.loads(_core.check(text))
    except ValueError as error:
        return [] if str(error) else ["a ValueError without a word"]
    except BaseException as error:  # a panic of the core is no Exception
        return [f"{type(error).__name__}: {error}"]
    took = time.thread_time() - began
    found = [f"the answer took {took:.1f} s of CPU time"] if took > MOST_S else []
    experiment = answer["experiment"]
    if (experiment is None) == (not answer["faults"]):
        found.append("neither an experiment nor a fault, or both")
    found += [f"a fault without a rule: {fault}" for fault in answer["faults"] if not fault["rule"]]
    if sum(len(str(fault)) for fault in answer["faults"]) > 10 * len(text) + 100_000:
        found.append("the faults are far longer than the document")
    if experiment is not None and json.loads(_core.check(json.dumps(experiment)))["experiment"] != experiment:
        found.append("a resolved document does not resolve to itself")
    return found


def settings(draws: random.Random) -> list[str]:
    """Faults of `--set` with odd paths and values."""
    path = "".join(
        draws.choice(["a", ".", '"', "[", "]", "\\", "=", "queue", " ", "\0", "é"])
        for _ in range(draws.randrange(9))
    )
    try:
        set_path({"queue": "red", "a": 1}, path, draws.choice(ODD))
    except ShallowsError:
        pass
    except Exception as error:
        return [f"--set {path!r}: {type(error).__name__}: {error}"]
    return []


__all__ = ["draw", "faults", "seeds", "settings"]
