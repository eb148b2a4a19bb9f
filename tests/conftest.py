"""Fixtures that the tests of set-up, sweeps, store and command line share."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from web_browser import browser, folder, page, server  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from shallows.results.store import StoredRun

# Each run draws the same examples, as in the Rust tests; `make soak` tries others. How long they take is the
# machine's affair.
UNTIMED = [HealthCheck.too_slow]
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=UNTIMED)
settings.register_profile("soak", print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

ROOT = Path(__file__).resolve().parents[1]

LONGEST = (
    "project/test_docs.py",
    "web/test_web_page.py",
    "attack/test_attack.py",
    "cli/test_interrupts.py",
    "project/test_site.py",
    "cli/test_contract.py",
    "cli/test_scaffold.py",
    "audit/test_rules.py",
    "assess/test_card.py",
    "web/test_lab.py",
    "studies/test_tune.py",
    "project/test_types.py",
    "project/test_notebooks.py",
)
"""Files of 15 CPU seconds and more. They come first, so that no process ends with a long one alone.

Those of clusters, whose workers may be silent for seconds only, come when Rust's half of the suite has ended.
"""

SMALL = {
    "title": "small",
    "duration": "2ms",
    "topology": {"kind": "star", "senders": 2, "rate": "1Gbps", "delay": "10us"},
    "queue": {"kind": "threshold", "limit": "100pkt", "mark_at": "20pkt"},
    "transport": {"cc": "dctcp"},
    "traffic": {"long": {"kind": "bulk", "from": "s*", "to": "r0"}},
}
"""A complete experiment that takes milliseconds."""


@pytest.fixture
def small() -> dict:
    return json.loads(json.dumps(SMALL))


@pytest.fixture
def small_file(tmp_path) -> Path:
    return write_toml(tmp_path / "small.toml", SMALL)


def write_toml(path: Path, document: dict) -> Path:
    """A document as a TOML file; JSON's values are TOML's, but for tables."""

    def value(v: object) -> str:
        if isinstance(v, dict):
            return "{ " + ", ".join(f"{json.dumps(k)} = {value(x)}" for k, x in v.items()) + " }"
        if isinstance(v, list):
            return "[" + ", ".join(map(value, v)) + "]"
        return json.dumps(v)

    path.write_text("".join(f"{key} = {value(v)}\n" for key, v in document.items()))
    return path


def with_cc(kind: object, **over: object) -> dict:
    """SMALL with a congestion control, and with other sections."""
    return {**json.loads(json.dumps(SMALL)), **over, "transport": {"cc": kind} | over.get("transport", {})}


def simulate(document: dict, *algorithms: type, store: Path) -> "StoredRun":
    """The run of a document with components in Python."""
    import shallows

    return shallows.run(document, algorithms=algorithms, store=store)


def shallows(*args: object, cwd: Path, **env: str) -> subprocess.CompletedProcess:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "shallows", *map(str, args)]
    environment = {**os.environ, "COLUMNS": "200", **env}
    environment.pop("SHALLOWS_STORE", None) if "SHALLOWS_STORE" not in env else None
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)


def pytest_collection_modifyitems(items) -> None:
    """The longest files first, the others in their order."""
    turn = {ROOT / "tests" / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turn.get(item.path, len(turn)))


def pytest_terminal_summary(terminalreporter) -> None:
    """Tests that need a kernel or ns-3 are listed, not only counted."""
    for needed in ("run ./shallows linux build", "apt install libns3-dev"):
        skipped = [each for each in terminalreporter.stats.get("skipped", []) if needed in str(each.longrepr)]
        if skipped:
            terminalreporter.line(f"SKIPPED: {needed} ({len(skipped)} tests)")


@pytest.fixture(autouse=True)
def ctrl_c_is_an_exception():
    """Signals are as usual, also under a shell that ignores some or after a library's import."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def every_run_keeps_the_laws_of_its_tables():
    """All runs that the tests make in this process keep them; see `shallows.tables.laws`."""
    from shallows import _core
    from shallows.backends.simulator import Simulator
    from shallows.tables import laws

    run, core = Simulator.run, _core.Simulation

    def run_and_check(self, experiment, running):
        made = run(self, experiment, running)
        if _core.Simulation is not core:  # a stand-in of a test has no tables
            return made
        found = laws.broken(made.tables, experiment, made.about["counts"])
        assert not found, "\n".join(map(str, found))
        return made

    Simulator.run = run_and_check
    yield
    Simulator.run = run
