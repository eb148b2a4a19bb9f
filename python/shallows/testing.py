"""Tests of a user's own: the conformance suite for a congestion control, and expectations of results.

    from shallows.testing import check_congestion_control, expect

    def test_mine():
        check_congestion_control(Mine)

    def test_incast():
        expect(shallows.sweep("incast.toml"), "query.fct_p99_ps < 20ms", "query.messages_unfinished == 0")

Each check runs small experiments, and a failure names the check and the observed values.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from shallows.authoring.base import CongestionControl
from shallows.errors import RunError, SpecError

if TYPE_CHECKING:
    from shallows.execution.outcomes import Sweep
    from shallows.results.store import StoredRun
    from shallows.studies.outcomes.expectations import Judged
    from shallows.tables.metrics import Tables

__all__ = ["CheckFailed", "check_congestion_control", "expect"]

MSS = 1460


class CheckFailed(AssertionError):
    """A congestion control does not hold what every one must hold, or a result is not as expected."""


def expect(result: Sweep | StoredRun, *expectations: str) -> list[Judged]:
    """Holds the result of `shallows.run` or `shallows.sweep` to expectations, as `--expect` does.

    Returns the verdicts if all hold. Raises CheckFailed with each that does not, and for runs that failed;
    SpecError for an expectation that is wrong in form, or that cannot fail.
    """
    from shallows.document.points import Point
    from shallows.execution.jobs import Outcome
    from shallows.execution.outcomes import Sweep
    from shallows.studies.outcomes.expectations import judge, read

    if isinstance(result, Sweep):
        outcomes: list[Outcome] = list(result)
    else:
        point = Point("", {}, result.seed, result.manifest["experiment"], result.hash)
        outcomes = [Outcome(point, result.hash, "stored", result, metrics=result.metrics)]
    failed = [f"seed {one.point.seed}: {one.error}" for one in outcomes if one.error]
    wanted = read(expectations, [one.point.experiment for one in outcomes], "expect")
    judged = judge(wanted, outcomes)
    failed += [
        f"{each.label}: {each.expectation.text}: {each.verdict}, {each.measured}".removeprefix(": ")
        for each in judged
        if each.verdict != "holds"
    ]
    if failed:
        raise CheckFailed("\n".join(failed))
    return judged


def check_congestion_control(cls: type[CongestionControl], **settings: Any) -> None:
    """Holds a class to what the built-in algorithms are held to. Raises CheckFailed with all that failed.

    `settings` override the class's defaults, as in an experiment file. The checks:

    - declaration: it can be named, and its settings have legal defaults;
    - windows: on any input from the transport the window stays between a segment and the file's bound,
      and congestion never opens it;
    - growth: an undisturbed flow fills an idle link;
    - loss, ECN, timeout: each makes the window smaller, and the flow recovers and ends;
    - conservation: packets sent are delivered, dropped or in flight;
    - determinism: the same seed gives the same tables;
    - rates: it works at 1 Mb/s and at 400 Gb/s.

    Its own exceptions propagate unchanged.
    """
    bench = _Bench(cls, settings)
    try:
        bench.run(duration="1us")
    except SpecError as error:
        raise CheckFailed(f"{cls.__qualname__} declaration: {error}") from error
    failed = []
    for check in (_windows, _growth, _loss, _ecn, _timeout, _conservation, _determinism, _rates):
        try:
            failed += [f"{check.__name__[1:]}: {line}" for line in check(bench)]
        except RunError as error:  # a bad value
            failed.append(f"{check.__name__[1:]}: {error}")
    if failed:
        raise CheckFailed("\n".join(f"{cls.__qualname__} {line}" for line in failed))


@dataclass
class _Bench:
    """Two senders and a receiver, and one class."""

    cls: type[CongestionControl]
    settings: dict[str, Any]

    @property
    def kind(self) -> str:
        from shallows.authoring.declaration import declaration

        return declaration(self.cls)["name"]

    def run(self, cls: type[CongestionControl] | None = None, **over: Any) -> _Run:
        """One run, not stored. `over` replaces sections of the experiment."""
        from shallows import _core
        from shallows.authoring import modules as plugins
        from shallows.document.check import resolve
        from shallows.tables.frames import to_frame

        document: dict[str, Any] = {
            "duration": "50ms",
            "topology": {"kind": "star", "senders": 1, "rate": "1Gbps", "delay": "10us"},
            "queue": {"kind": "drop-tail", "limit": "1000pkt"},
            "transport": {},
            "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0"}},
            "probe": {"flow_trace": "change"},
            "seed": 1,
        }
        document |= copy.deepcopy(over)
        document["transport"] = document["transport"] | {"cc": {"kind": self.kind, **self.settings}}
        plugins.add(document, [cls or self.cls])
        resolved = resolve(document)
        simulation = _core.Simulation(json.dumps(resolved), plugins.objects(resolved))
        simulation.run()
        tables = {name: to_frame(columns) for name, columns in simulation.tables().items()}
        return _Run(tables, json.loads(simulation.manifest())["counts"])


@dataclass
class _Run:
    tables: Tables
    counts: dict[str, int]


# ---- the algorithm alone, with all events of a transport ----


def _flow(cwnd_max: float, seed: int) -> Any:
    windows = {"initial_window": 10.0 * MSS, "restart_window": 10.0 * MSS, "cwnd_max": cwnd_max}
    windows |= {"initial_ssthresh": float("inf"), "cwnd_floor": float(MSS), "ssthresh_floor": 2.0 * MSS}
    about = {"id": 0, "now": 0.0, "bytes": 1_000_000, "traffic_class": "load", "random": random.Random(seed)}
    return SimpleNamespace(mss=MSS, slow_start_limit=2.0, growth="bytes", **windows, **about)


def _instance(bench: _Bench) -> CongestionControl:
    from shallows import _core
    from shallows.authoring.declaration import declaration

    declared = declaration(bench.cls) | {"module": "-", "source_hash": "-"}
    made = bench.cls()
    values = _core.read_settings(json.dumps(declared), "transport.cc", json.dumps(bench.settings))
    for name, value in values.items():
        setattr(made, name, value)
    return made


def _walk(bench: _Bench, seed: int, cwnd_max: float) -> Iterator[tuple[str, float, float]]:
    """One random history: the events, and the windows before and after each."""
    chance, control = random.Random(seed), _instance(bench)
    control.start(_flow(cwnd_max, seed))
    yield "start", float("inf"), _held(control, cwnd_max)
    now, sent, srtt = 0.0, 0, 0.0
    total = dict.fromkeys(("acked", "delivered", "marked"), 0)
    for _ in range(300):
        now += 10e-6
        before, told = control.cwnd, chance.random()
        acked, ece, ended = chance.randrange(1, 200_000), chance.random() < 0.3, chance.random() < 0.2
        rtt = chance.uniform(1e-6, 1e-2)
        # SACK has reported some before, or reports more.
        delivered = chance.choice([acked, acked // 2, acked + 3 * MSS])
        srtt, sent = rtt, sent + acked
        ack = SimpleNamespace(
            now=now, acked=acked, delivered=delivered, marked=acked if ece else 0, ece=ece, round_ended=ended,
            may_grow=chance.random() < 0.5, rtt=rtt, srtt=srtt, flight=int(before), sent=sent,
        )  # fmt: skip
        if told < 0.7:
            total = {name: amount + getattr(ack, name) for name, amount in total.items()}
            if control.cadence == "ack":
                control.on_ack(ack)
            if ended and bench.cls.on_round is not CongestionControl.on_round:
                held = _held(control, cwnd_max)
                control.on_round(SimpleNamespace(**{**vars(ack), **total, "flight": int(held)}))
                total = dict.fromkeys(total, 0)
            yield "an acknowledgement", before, _held(control, cwnd_max)
        elif told < 0.95:
            why = chance.choice(["loss", "loss-after-ecn", "ecn", "timeout"])
            if why == "timeout" and bench.cls.on_timeout is not CongestionControl.on_timeout:
                control.on_timeout(ack)
            else:
                control.on_congestion(why, ack)
            yield why, before, _held(control, cwnd_max)
        elif bench.cls.on_idle is not CongestionControl.on_idle:
            control.on_idle(ack)
            yield "an idle time", before, _held(control, cwnd_max)


def _held(control: CongestionControl, cwnd_max: float) -> float:
    """The window in force, as the transport holds it; a value that is no window stays as it is."""
    cwnd = control.cwnd
    if isinstance(cwnd, int | float) and cwnd > 0:
        control.cwnd = max(min(cwnd, cwnd_max), MSS)
    return control.cwnd


def _windows(bench: _Bench) -> Iterator[str]:
    """The checks of `every_control_keeps_a_window` in crates/spec/tests/conformance.rs."""
    for seed in range(40):
        cwnd_max = 100.0 * MSS if seed % 2 else float("inf")
        first = []
        for told, before, cwnd in _walk(bench, seed, cwnd_max):
            first.append(cwnd)
            if not isinstance(cwnd, int | float) or not 0 < cwnd < 2**50:
                yield f"after {told} the window is {cwnd!r} (history {seed})"
                return
            if told in ("loss", "loss-after-ecn", "ecn", "timeout") and cwnd > max(before, 2 * MSS):
                yield f"{told} opened the window from {before:.0f} to {cwnd:.0f} bytes (history {seed})"
                return
        if first != [cwnd for _, _, cwnd in _walk(bench, seed, cwnd_max)]:
            yield f"the same history gives different windows when repeated (history {seed}); use flow.random"
            return


# ---- the algorithm in a network ----


def _growth(bench: _Bench) -> Iterator[str]:
    run = bench.run(traffic={"load": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "4MB"}})
    (end,) = run.tables["flows"]["fct_ps"]
    if end is None:  # 4 MB take 34 ms at 1 Gb/s
        done = run.tables["flows"]["delivered_bytes"][0]
        yield f"alone on a 1 Gb/s link, 50 ms did not suffice for 4 MB; {done} bytes were delivered"


def _seen(bench: _Bench, wanted: set[str], **over: Any) -> tuple[_Run, list[tuple[str, float, float]]]:
    """A run, and the windows before and after each congestion of these kinds."""
    seen: list[tuple[str, float, float]] = []

    def watched(method: Callable[..., None], word: str | None) -> Callable[..., None]:
        def call(self: CongestionControl, *args: Any) -> None:
            why, before = word or args[0], self.cwnd
            method(self, *args)
            seen.append((why, before, self.cwnd))

        return call

    cls = bench.cls
    own = {"on_congestion": watched(cls.on_congestion, None), "name": bench.kind}
    if cls.on_timeout is not CongestionControl.on_timeout:
        own["on_timeout"] = watched(cls.on_timeout, "timeout")
    run = bench.run(type(cls.__name__, (cls,), own), **over)
    return run, [entry for entry in seen if entry[0] in wanted]


def _reaction(run: _Run, seen: list[tuple[str, float, float]], what: str, ends: bool = True) -> Iterator[str]:
    if not seen:
        yield f"never received {what}: the flow sent too little"
    wide = [(before, after) for _, before, after in seen if before > 2 * MSS]
    for before, after in wide:
        if not after < before:
            yield f"{what} left the window at {after:.0f} bytes, from {before:.0f}"
            break
    if ends and run.tables["flows"]["fct_ps"].null_count():
        yield f"the flow did not end after {what}"


def _loss(bench: _Bench) -> Iterator[str]:
    load = {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "1MB"}
    over = {"port": {"s0->switch": {"drop_packets": [100]}}, "traffic": {"load": load}, "duration": "1s"}
    run, seen = _seen(bench, {"loss", "loss-after-ecn"}, **over)
    yield from _reaction(run, seen, "a loss")


def _ecn(bench: _Bench) -> Iterator[str]:
    over = {
        "topology": {"kind": "star", "senders": 2, "rate": "1Gbps", "delay": "10us"},
        "queue": {"kind": "threshold", "limit": "1000pkt", "mark_at": "10pkt"},
        "transport": {"ecn": "on"},
        "traffic": {"load": {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "4MB"}},
    }
    run, seen = _seen(bench, {"ecn"}, duration="1s", **over)
    if run.tables["flows"]["marks"].sum():  # else it keeps the queue short, and has nothing to react to
        yield from _reaction(run, seen, "ECN-Echo")


def _timeout(bench: _Bench) -> Iterator[str]:
    load = {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "500KB"}
    # The SYN, then the whole first window: nothing is left to report its loss.
    over = {"port": {"s0->switch": {"drop_packets": list(range(2, 12))}}, "traffic": {"load": load}}
    run, seen = _seen(bench, {"timeout"}, duration="20s", **over)
    yield from _reaction(run, seen, "a timeout")


def _conservation(bench: _Bench) -> Iterator[str]:
    port = {"*->*": {"loss": 0.01, "duplicate": 0.01, "reorder": 0.01, "reorder_delay": "50us"}}
    topology = {"kind": "star", "senders": 4, "rate": "1Gbps", "delay": "10us"}
    counts = bench.run(topology=topology, queue={"kind": "drop-tail", "limit": "20pkt"}, port=port).counts
    came = counts["packets_sent"] + counts["packets_duplicated"]
    went = counts["packets_delivered"] + counts["packets_dropped"] + counts["packets_in_flight"]
    if came != went:
        yield f"{came} packets entered the network and {went} are accounted for"
    if not counts["packets_delivered"]:
        yield "nothing was delivered through a lossy network"


def _determinism(bench: _Bench) -> Iterator[str]:
    over = {"port": {"*->*": {"loss": 0.01}}, "duration": "20ms"}
    first, second = bench.run(**over), bench.run(**over)
    changed = [name for name in first.tables if not first.tables[name].equals(second.tables[name])]
    if changed:
        yield f"the same seed gave different tables ({', '.join(changed)}); draw from flow.random only"


def _rates(bench: _Bench) -> Iterator[str]:
    for rate, size, duration in (("1Mbps", "50KB", "10s"), ("400Gbps", "4MB", "50ms")):
        topology = {"kind": "star", "senders": 1, "rate": rate, "delay": "10us"}
        load = {"kind": "bulk", "from": "s*", "to": "r0", "bytes": size}
        run = bench.run(topology=topology, traffic={"load": load}, duration=duration)
        if run.tables["flows"]["fct_ps"].null_count():
            yield f"{size} did not get through a {rate} link in {duration}"
