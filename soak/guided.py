"""`python -m soak.guided TARGET`: coverage-guided fuzzing of the readers of files and the writer of captures.

`make fuzz TARGET=... SECONDS=...` installs atheris, the fuzzer, and calls this. A finding ends it with a
traceback, and its input is kept as `crash-...` in the corpus' directory. Anything but an error in words is a
finding.
"""

from __future__ import annotations

import itertools
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["shallows", "soak"]):
    from shallows.document.load import load
    from shallows.document.points import expand
    from shallows.errors import ShallowsError
    from shallows.execution.runner import Runner
    from shallows.importing.compose import Part, compose
    from shallows.importing.formats import READERS, read_with
    from shallows.importing.parts.content import Reader
    from shallows.packetdrill import run as packetdrill
    from shallows.results.store import Store

    from soak import experiments, readers

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / ".cache" / "fuzz"

MOST_ROWS = 20_000
"""The most packets that a run records: beyond that it ends with a message."""

Use = Callable[[bytes], object]


class Draws(random.Random):
    """Random numbers that are the bytes of an input while it lasts: the fuzzer's choices are the draws."""

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._left = iter(data)

    def getrandbits(self, count: int, /) -> int:
        """An integer of `count` bits."""
        size = -(-count // 8)
        drawn = bytes(itertools.islice(self._left, size))
        if len(drawn) < size:  # zeros for ever would make `sample` loop
            return super().getrandbits(count)
        return int.from_bytes(drawn, "big") >> (8 * size - count)

    def random(self) -> float:
        """A number from 0 to 1, made from two bytes."""
        return self.getrandbits(16) / 2**16


def _experiment(place: Path) -> Use:
    """An experiment file."""
    file = place / "experiment.toml"

    def use(data: bytes) -> object:
        file.write_bytes(data)
        return expand(load(file))

    return use


def _named(suffix: str, load_of: Callable[[str], dict[str, Any]]) -> Callable[[Path], Use]:
    """A file that a load of an experiment names."""

    def target(place: Path) -> Use:
        file = place / f"named{suffix}"
        document = {
            "duration": "100us",
            "topology": {"kind": "star", "senders": 2, "rate": "1Gbps", "delay": "5us"},
            "queue": {"kind": "drop-tail", "limit": "20pkt"},
            "transport": {"cc": "newreno"},
            "traffic": {"x": load_of(str(file))},
        }

        def use(data: bytes) -> object:
            file.write_bytes(data)
            return expand(load(document))

        return use

    return target


def _imported(reader: Reader) -> Callable[[Path], Use]:
    """A file of a format, read and made an experiment."""

    def target(place: Path) -> Use:
        file = place / f"damaged.0.et{reader.suffix}"

        def use(data: bytes) -> object:
            file.write_bytes(data)
            return compose([Part(file.name, reader, read_with(reader, [file], {}))], None, "fuzzed")

        return use

    return target


def _samples(reader: Reader) -> Callable[[], list[bytes]]:
    samples = reader.sample.values() if isinstance(reader.sample, Mapping) else [reader.sample]
    return lambda: [each if isinstance(each, bytes) else each.encode() for each in samples]


def _script(place: Path) -> Use:
    """A packet script, read and run."""
    file = place / "script.pkt"

    def use(data: bytes) -> object:
        file.write_bytes(data)
        return packetdrill.run(file)

    return use


def _manifest(place: Path) -> Use:
    """A stored run's manifest."""
    run = readers.make_store(place)
    file = run.path / "manifest.json"
    whole = CORPUS / "manifest" / "begin-0"  # tells times, so each process has its own
    whole.parent.mkdir(parents=True, exist_ok=True)
    whole.write_bytes(file.read_bytes())

    def use(data: bytes) -> object:
        file.write_bytes(data)
        store = Store(run.path.parent)
        return store.find(run.hash) and store.check(run.hash)

    return use


def _capture(place: Path) -> Use:
    """A run whose every choice is a byte of the input, and the capture of its packets."""

    def use(data: bytes) -> object:
        experiment = experiments.draw(Draws(data))
        if experiment is None or "python" in experiment:
            return None
        experiment["probe"] |= {"packets": ["*->*"], "trace_rows": MOST_ROWS}
        try:
            [outcome] = Runner.of(store=place / "runs", workers=1).run(expand(load(experiment)))
            if outcome.run is not None and len(outcome.run.tables["packets"]):
                found = readers.capture(outcome.run, place)
                assert not found, found
        finally:
            shutil.rmtree(place / "runs", ignore_errors=True)
        return outcome.error

    return use


def _table(name: str) -> dict[str, Any]:
    return {"kind": "table", "name": name}


def _graph(name: str) -> dict[str, Any]:
    return {"kind": "graph", "name": name}


def _sizes(name: str) -> dict[str, Any]:
    ends = {"from": "s*", "to": "r0"}
    return {"kind": "poisson", **ends, "load": 0.1, "sizes": {"kind": "empirical", "name": name}}


def _texts(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


GRAPH = b"id,from,to,bytes,after,delay_us\na,s0,r0,1KB,,\nb,r0,s1,9,a,2\n"
GRAPH_JSON = b"""[{"id": "a", "from": "s0", "to": "r0", "bytes": "1KB"},
 {"id": "b", "from": "r0", "to": "s1", "bytes": 9, "after": ["a"]}]"""
FLOWS = b"start_us,from,to,bytes\n1,s0,r0,1500\n2.5,s1,r0,10KB\n"
SIZES = b"size_bytes,cdf_percent\n100,0\n1000,50\n1000000,100\n"

TARGETS: dict[str, tuple[Callable[[Path], Use], Callable[[], list[bytes]]]] = {
    "experiment": (_experiment, lambda: _texts("experiments/*.toml")),
    "table": (_named(".csv", _table), lambda: [FLOWS]),
    "graph-csv": (_named(".csv", _graph), lambda: [GRAPH]),
    "graph-json": (_named(".json", _graph), lambda: [GRAPH_JSON]),
    "sizes": (_named(".csv", _sizes), lambda: [SIZES]),
    **{f"import-{reader.name}": (_imported(reader), _samples(reader)) for reader in READERS},
    "script": (_script, lambda: _texts("tests/packets/*.pkt")),
    "manifest": (_manifest, list),
    "capture": (_capture, lambda: [random.Random(k).randbytes(400) for k in range(20)]),
}
"""By name: the use of an input, and inputs to begin with."""


def main() -> None:
    """Fuzzes one target; the other arguments are libFuzzer's."""
    name, *options = sys.argv[1:] or [""]
    if name not in TARGETS:
        sys.exit(f"python -m soak.guided TARGET: a target is one of {', '.join(TARGETS)}; got {name!r}")
    prepare, begins = TARGETS[name]
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        use = prepare(Path(place))
        for number, data in enumerate(begins()):
            (corpus / f"begin-{number}").write_bytes(data)

        def one(data: bytes) -> None:
            try:
                use(data)
            except ShallowsError as error:
                assert str(error), "an error without a word"

        atheris.Setup([sys.argv[0], f"-artifact_prefix={corpus}/", *options, str(corpus)], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
