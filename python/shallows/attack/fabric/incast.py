"""The degree of an incast: the least number of senders at which its port overflows, or one times out.

Each is found by bisection over the load's `workers`, to one sender: the number below has been run, and is
free of it. The overflow of the first windows has a closed form. n senders that begin together bring n windows
of w packets, and the port sends meanwhile what one sender's window takes, and what the spacing of the
requests gives:

    overflow iff n w - drained > B, with drained = rate x (time from the first arrival to the last)

It holds for senders at the receiver's own switch, with links as fast as the port, and a buffer of the port's
own.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shallows import _core, terminal
from shallows.attack.corpus import number
from shallows.attack.fabric.scene import Case, Nothing, Scene, Table, Value
from shallows.attack.objective import Objective
from shallows.attack.words import share_text
from shallows.document.paths import Document

__all__ = ["Degree", "Jump", "degree", "first_overflow"]


@dataclass(frozen=True)
class Jump:
    """The least number of senders with an effect. `senders` is None if none up to the most has it."""

    effect: str
    senders: int | None
    document: Document | None
    before: str = ""
    """The completion time of a round, and the objective, with one sender fewer."""
    after: str = ""
    uneven: tuple[int, ...] = ()
    """Larger numbers that were run and are free of the effect: bisection presumes that there is none."""


@dataclass(frozen=True)
class Degree:
    """The jumps of a load. `predicted` is the closed form's number, or None: `why` says the reason."""

    load: str
    most: int
    jumps: list[Jump]
    predicted: int | None
    why: str
    others: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """See `Part`."""
        keys = ("effect", "senders", "before", "after", "uneven")
        rows = [{key: getattr(one, key) for key in keys} for one in self.jumps]
        about = {"load": self.load, "most": self.most, "jumps": rows}
        return {"incast": about | {"predicted_overflow": self.predicted, "not_predicted_since": self.why}}

    def shown(self, objective: Objective | None) -> list[Table | str]:
        """See `Part`."""
        rows = [
            [
                one.effect,
                f"none up to {self.most}" if one.senders is None else str(one.senders),
                one.before,
                one.after,
                f"not with {', '.join(map(str, one.uneven))}" if one.uneven else "",
            ]
            for one in self.jumps
        ]
        columns = ["effect", "senders", "one fewer", "with them", ""]
        told: list[Table | str] = [Table(f"Degree of the incast {self.load}", columns, rows)]
        form = f"closed form: no number, since {self.why}" if self.predicted is None else (
            f"closed form: the first windows overflow from {self.predicted} senders on"
            + (f"; {self.why}" if self.why else "")
        )  # fmt: skip
        told.append(form)
        if self.others:
            told.append(f"not searched: the incasts {', '.join(self.others)}, since {self.load} comes first")
        return told

    def cases(self) -> list[Case]:
        """See `Part`."""
        found = []
        for one in self.jumps:
            if one.document is not None:
                head = f"{one.effect}: not with {(one.senders or 1) - 1} senders, and with {one.senders}."
                found.append(Case(f"incast-{one.effect.split()[0]}.toml", one.document, (head,)))
        return found


def degree(scene: Scene) -> Degree:
    """The degree of the file's first incast. Raises Nothing, SpecError, RunError, StoreError."""
    loads = scene.experiment["traffic"]
    names = [name for name, one in loads.items() if one["kind"] == "incast"]
    if not names:
        raise Nothing("needs a load of the kind incast")
    load, *others = names
    hosts = scene.hosts(loads[load]["from"])
    most = max(len(hosts), int(number(loads[load].get("workers"), "") or 0))
    [receiver] = scene.hosts(loads[load]["to"])
    known: dict[int, Value] = {}

    def document(senders: int) -> Document:
        changed = copy.deepcopy(scene.document)
        changed["traffic"][load]["workers"] = senders
        return changed

    def value(senders: int) -> Value:
        if senders not in known:
            [known[senders]] = scene.values([document(senders)])
        return known[senders]

    def dropped(senders: int) -> bool:
        outcome = value(senders).outcome
        if outcome is None or outcome.run is None:
            return False
        queues = outcome.run.tables["queues"]
        here = queues.filter(queues["port"].str.ends_with(f"->{receiver}") & (queues["is_switch"] == 1))
        return int(here["drops"].sum()) > 0

    kind = loads[load].get("class") or load

    def waited(senders: int) -> bool:
        outcome = value(senders).outcome
        return bool(outcome and outcome.metrics and (outcome.metrics.get(f"{kind}.timeouts") or 0) > 0)

    effects: list[tuple[str, Callable[[int], bool]]] = [
        ("overflow of the port", dropped),
        ("timeout of a sender", waited),
    ]
    if scene.objective:
        effects.append((f"objective {scene.objective.text}", lambda senders: value(senders).holds))
    jumps = []
    for effect, has in effects:
        least = _bisect(has, most)
        around = ((least or 1) - 1, least or most)
        before, after = (_words(scene, load, value(n)) if n else "" for n in around)
        uneven = tuple(sorted(n for n in known if least and n > least and not has(n)))
        jumps.append(Jump(effect, least, None if least is None else document(least), before, after, uneven))
    predicted, why = _closed_form(scene, load, receiver, hosts, most)
    return Degree(load, most, jumps, predicted, why, tuple(others))


def _bisect(has: Callable[[int], bool], most: int) -> int | None:
    """The least number from 1 to `most` that has an effect, if all larger ones have it."""
    if not has(most):
        return None
    free, held = 0, most
    while held - free > 1:
        middle = (free + held) // 2
        free, held = (free, middle) if has(middle) else (middle, held)
    return held


def _words(scene: Scene, load: str, value: Value) -> str:
    metrics = value.outcome.metrics if value.outcome else None
    if not metrics:
        return value.note
    mean = metrics.get(f"{load}.round_fct_mean_ps")
    told = "no round ends" if mean is None else f"a round {terminal.readable('x_ps', mean)}"
    return f"{told}, {share_text(scene.objective, value.value)}" if scene.objective else told


def first_overflow(
    window_bytes: int, packet_bytes: int, limit_bytes: int, spacing_s: float, rate_bps: float, most: int
) -> int | None:
    """The least number of senders whose first windows overflow a port, by the closed form.

    `window_bytes` and `packet_bytes` are on the wire; `spacing_s` is the time between two requests. None if
    no number up to `most` does.
    """
    byte_s = 8 / rate_bps
    for senders in range(1, most + 1):
        arriving_s = window_bytes * byte_s + (senders - 1) * spacing_s
        drained = min(arriving_s / byte_s, senders * window_bytes)
        # The packet in transmission counts as held, and the last one does not fit beside a full buffer.
        if senders * window_bytes - drained + packet_bytes > limit_bytes:
            return senders
    return None


def _closed_form(
    scene: Scene, load: str, receiver: str, hosts: list[str], most: int
) -> tuple[int | None, str]:
    """The closed form's number, with what limits it; or None and the reason."""
    network, one = scene.network, scene.experiment["traffic"][load]
    transport = one["transport"]
    links = {network.nodes[port["from"]]["name"]: port for port in network.ports if _is_host(network, port)}
    last = network.ports[links[receiver]["back"]]
    numbers = _core.numbers(scene.network.text)
    path = f"traffic.{load}"
    if any(links[host]["to"] != last["from"] for host in hosts):
        return None, "the senders are not all at the receiver's switch"
    if any(links[host]["rate_bps"] != last["rate_bps"] for host in hosts):
        return None, "the senders' links are not as fast as the port"
    if most > len(hosts):
        return None, "several senders share a host"
    if one.get("response") in (None, "none"):
        return None, "the load states no response"
    if numbers.get(f"{path}.jitter") or one.get("connection") == "fresh":
        return None, "jitter and new connections spread the responses"
    if scene.experiment.get("switch"):
        return None, "the port may share its memory (`[switch]`)"
    if "mss" not in transport:
        return None, "the transport is not TCP"
    size = numbers[f"{path}.transport.mss"] + numbers[f"{path}.transport.header"]
    size += 12 if transport.get("timestamps") else 0
    limit = _size(last["queue"].get("limit"), size)
    if last["queue"]["kind"] not in ("drop-tail", "threshold") or limit is None:
        return None, "the port has another discipline than drop-tail or threshold, or no limit"
    window = _size(transport["initial_window"], numbers[f"{path}.transport.mss"]) or 0
    response = numbers[f"{path}.response"]
    sent = min(window, response)
    headers = math.ceil(sent / numbers[f"{path}.transport.mss"]) * (size - numbers[f"{path}.transport.mss"])
    request = numbers[f"{path}.request"] + size - numbers[f"{path}.transport.mss"]
    spacing_s = request * 8 / last["rate_bps"]
    found = first_overflow(sent + headers, size, limit, spacing_s, last["rate_bps"], most)
    longer = "responses are longer than the first window, so that fewer senders may do" * (response > window)
    if found is None:
        return None, f"the first windows of {most} senders fit the buffer"
    return found, longer


def _is_host(network: Any, port: Mapping[str, Any]) -> bool:
    return bool(network.nodes[port["from"]]["host"])


def _size(text: Any, packet_bytes: int) -> int | None:
    """A size in bytes: packets count as full ones."""
    if text in (None, "none"):
        return None
    packets = number(text, "pkt") if str(text).endswith("pkt") else None
    if packets is not None:
        return round(packets * packet_bytes)
    found = number(text, "B")
    return None if found is None else round(found)
