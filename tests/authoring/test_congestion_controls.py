"""Algorithms written in Python: named, checked, recorded, run, and their errors."""

import json
import os
import shutil
import signal
import textwrap
import threading

import polars as pl
import pytest
import shallows
from conftest import shallows as command
from conftest import simulate, with_cc, write_toml
from polars.testing import assert_frame_equal
from shallows import _core
from shallows.authoring.examples.aimd import Aimd
from shallows.authoring.examples.dctcp import PythonDctcp
from shallows.document.check import resolve
from shallows.document.load import load
from shallows.errors import PluginError, SpecError

HARSH = {
    "queue": {"kind": "threshold", "limit": "40pkt", "mark_at": "20pkt"},
    "port": {"*->*": {"loss": 0.003}},
    "probe": {"queue_trace": "20us", "flow_trace": "change", "nic_queues": True},
}
LOST_SYNS = {"port": {"s*->switch": {"drop_packets": [1, 2]}}}
MESSAGES = {"kind": "messages", "from": "s*", "to": "r0", "bytes": "50KB", "interval": "3ms"}


@pytest.mark.parametrize("profile", ["datacentre", "rfc", "linux", "ns2"])
@pytest.mark.parametrize(
    "over",
    [{}, HARSH, HARSH | {"traffic": {"m": MESSAGES}}, LOST_SYNS],
    ids=["calm", "harsh", "idle", "lost-syns"],
)
def test_dctcp_in_python_gives_the_tables_of_dctcp_in_rust(tmp_path, profile, over):
    # Linux's whole segments are its own control's; a control in Python counts in bytes.
    transport = {"profile": profile, "arithmetic": "exact", "initial_rto": "5ms"}
    over = over | {"duration": "30ms", "transport": transport}
    ours = simulate(with_cc({"kind": "python-dctcp", "g": 0.1}, **over), PythonDctcp, store=tmp_path)
    theirs = simulate(with_cc({"kind": "dctcp", "g": 0.1}, **over), store=tmp_path)
    assert ours.manifest["counts"] == theirs.manifest["counts"]
    for name, table in theirs.tables.items():
        mine = ours.tables[name]
        if name == "flows":
            mine = mine.with_columns(cc=pl.lit("dctcp"))
        assert_frame_equal(mine, table, check_exact=True)
    if "probe" in over:
        assert theirs.tables["flows"]["fast_recoveries"].sum() > 0


FIFTEEN_LINES = '''
    import shallows

    class Aimd(shallows.CongestionControl):
        """One packet a round trip up, a share down. Chiu & Jain 1989. cwnd in bytes."""
        beta: float = 0.5                        # declared = settable in the spec, recorded in the manifest
        def start(self, flow): self.mss, self.cwnd = flow.mss, flow.initial_window
        def on_ack(self, ack): self.cwnd += self.mss * ack.acked / self.cwnd
        def on_congestion(self, why, ack): self.cwnd *= self.beta
'''


@pytest.fixture
def mine(tmp_path):
    """A module and an experiment that names it, in a directory that is not the current one."""
    place = tmp_path / "mine"
    place.mkdir()
    (place / "my_cc.py").write_text(textwrap.dedent(FIFTEEN_LINES))
    python = {"python": {"modules": ["my_cc.py"]}}
    write_toml(place / "mine.toml", with_cc({"kind": "aimd", "beta": 0.7}, duration="20ms") | python)
    return place


def test_the_fifteen_lines_run_as_documented(tmp_path, mine):
    done = command("run", "mine/mine.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [flow["cc"] for flow in found["flows"]] == ["aimd", "aimd"]
    assert found["metrics"]["goodput_bps_total"] > 0.9e9
    manifest = json.loads((tmp_path / found["path"] / "manifest.json").read_text())
    (component,) = manifest["experiment"]["python"]["components"]
    assert (component["module"], component["class"]) == ("my_cc.py", "Aimd")
    assert len(component["source_hash"]) == 32
    assert manifest["experiment"]["traffic"]["long"]["transport"]["cc"] == {"kind": "aimd", "beta": 0.7}


def test_an_edit_of_the_module_or_its_helper_is_another_run(tmp_path, mine):
    hashes = set()
    for text in ("", "# edited\n"):
        (mine / "my_cc.py").write_text(textwrap.dedent(FIFTEEN_LINES) + "import helper\n" + text)
        for value in (1, 2):
            (mine / "helper.py").write_text(f"x = {value}\n")
            hashes.add(shallows.run(mine / "mine.toml", store=tmp_path / "runs").hash)
    assert len(hashes) == 4


def test_a_helper_that_was_edited_is_read_again(tmp_path, mine):
    text = textwrap.dedent(FIFTEEN_LINES).replace("self.mss * ack", "helper.GAIN * self.mss * ack")
    (mine / "my_cc.py").write_text("import helper\n" + text)
    windows = []
    for gain in (1, 0.0001):
        (mine / "helper.py").write_text(f"GAIN = {gain}\n")
        run = shallows.run(mine / "mine.toml", store=tmp_path / "runs")
        windows.append(run.tables["flows"]["cwnd_mean_bytes"].sum())
    assert windows[1] < windows[0] / 2


def test_a_stored_experiment_runs_again_only_with_the_same_sources(tmp_path, mine, monkeypatch):
    run = shallows.run(mine / "mine.toml", store=tmp_path / "runs")
    assert shallows.run(run.experiment, store=tmp_path / "runs").hash == run.hash
    assert shallows.run(run.experiment, store=tmp_path / "others").hash == run.hash
    from shallows.authoring import modules as plugins

    monkeypatch.setattr(plugins, "_objects", {})
    monkeypatch.setattr(plugins, "_paths", {})
    with pytest.raises(SpecError, match="is not installed here"):
        shallows.run(run.experiment, store=tmp_path / "more")
    shutil.copy(mine / "my_cc.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert shallows.run(run.experiment, store=tmp_path / "more").hash == run.hash
    monkeypatch.setattr(plugins, "_objects", {})
    (tmp_path / "my_cc.py").write_text(textwrap.dedent(FIFTEEN_LINES) + "# edited\n")
    with pytest.raises(SpecError, match="has changed since"):
        shallows.run(run.experiment, store=tmp_path / "yet more")


def test_what_is_named_but_not_used_changes_no_hash(tmp_path, mine):
    baseline = shallows.run(with_cc("dctcp", duration="20ms"), store=tmp_path / "runs")
    named = shallows.run(mine / "mine.toml", settings=["transport.cc=dctcp"], store=tmp_path / "runs")
    assert named.hash == baseline.hash


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (
            "transport.cc.betta=0.3",
            'transport.cc.betta: unknown key; known: kind, beta, got "betta" (did you mean "beta"?)',
        ),
        ("transport.cc.beta=half", 'transport.cc.beta: must be a number, got "half"'),
        ("transport.cc.kind=aimdd", '(did you mean "aimd"?)'),
        ('python.modules="my_c.py"', '(did you mean "my_cc.py"?)'),
        ("python.module=1", "python.module: unknown key"),
    ],
)
def test_faults_come_before_anything_runs(tmp_path, mine, setting, told):
    done = command("run", "mine/mine.toml", "--set", setting, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert not (tmp_path / "runs").exists()


CC = "class A(shallows.CongestionControl)"
EMPTY = "on_ack = on_congestion = print"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class A(", "is not Python"),
        ("import shallows\nx = y\n", "cannot be imported: NameError: name 'y' is not defined (line 2)"),
        ("x = 1", "declares nothing"),
        (f"{CC}: pass", "A: must have a method on_ack"),
        (f"{CC}:\n  cadence = 'round'\n  def on_ack(self, ack): pass", "is never called"),
        (f"{CC}:\n  x: dict = {{}}\n  {EMPTY}", "A.x: must be annotated"),
        (f"{CC}:\n  {EMPTY}\nclass B(A): name = 'a'", "must not have the name of another component"),
        (f"{CC}:\n  x: float = shallows.param(2.0, range='[0, 1]')\n  {EMPTY}", "0.default: must be <= 1"),
    ],
)
def test_a_module_that_cannot_be_used_says_why(mine, text, told):
    (mine / "my_cc.py").write_text("import shallows\n" + text if "shallows." in text else text)
    with pytest.raises(SpecError) as caught:
        resolve(load(mine / "mine.toml") | {"seed": 1})
    assert told in str(caught.value)


class Kinds(shallows.CongestionControl):
    """One setting of each kind, in Python's numbers."""

    span: shallows.Span = "25us"
    rate: shallows.Rate = "10Gbps"
    size: shallows.Bytes = "150KB"
    count: int = 3
    share: float = 1
    flag: bool = True
    names: list[str] = ["a"]  # noqa: RUF012
    mode: str = "x"
    needed: float

    def on_ack(self, ack):
        numbers = self.span, self.rate, self.size, self.count, self.share, self.needed
        raise AssertionError((numbers, self.flag, self.names))

    def on_congestion(self, why, ack): ...


def test_settings_arrive_as_numbers(tmp_path):
    with pytest.raises(SpecError, match=r"transport.cc.needed: is required: a number"):
        simulate(with_cc("kinds"), Kinds, store=tmp_path)
    with pytest.raises(AssertionError) as caught:
        simulate(with_cc({"kind": "kinds", "needed": 2.5, "rate": "1Mbps"}), Kinds, store=tmp_path)
    assert caught.value.args[0] == ((25e-6, 1_000_000, 150_000, 3, 1.0, 2.5), True, ["a"])


class Fails(Aimd):
    """Fails at the fifth acknowledgement of a flow, in a given way."""

    way: str = "raise"

    def start(self, flow):
        super().start(flow)
        self.seen = 0

    def on_ack(self, ack):
        self.seen += 1
        if self.seen == 5:
            if self.way == "raise":
                raise ZeroDivisionError("my own mistake")
            self.cwnd = {"nan": float("nan"), "none": None, "text": "wide", "zero": 0, "huge": 1e30}.get(
                self.way, 1e4
            )
            self.pacing_rate = -1.0 if self.way == "pace" else None


def test_an_exception_surfaces_as_itself_with_its_traceback(tmp_path):
    with pytest.raises(ZeroDivisionError, match="my own mistake") as caught:
        simulate(with_cc("fails"), Fails, store=tmp_path)
    assert caught.traceback[-1].name == "on_ack"
    assert "in Fails.on_ack of flow 0 at" in caught.value.__notes__[0]
    assert list(tmp_path.glob("[0-9a-f]*")) == []


@pytest.mark.parametrize("way", ["nan", "none", "text", "zero", "huge", "pace"])
def test_a_bad_value_names_flow_time_and_value(tmp_path, way):
    rule = r"must be (a finite number above 0|at most 2\*\*50 bytes)"
    with pytest.raises(
        PluginError, match=rf"flow \d+ at [\d.]+\w?s: Fails.on_ack left \w+ = .*, which {rule}"
    ):
        simulate(with_cc({"kind": "fails", "way": way}), Fails, store=tmp_path)


def test_a_window_below_a_segment_is_held_at_one(tmp_path):
    class Holds(Aimd):
        def start(self, flow):
            super().start(flow)
            self.windows = windows.setdefault(flow.id, [])

        def on_ack(self, ack):
            self.windows.append(self.cwnd)
            self.cwnd = 1

    windows: dict[int, list[float]] = {}
    run = simulate(with_cc("holds"), Holds, store=tmp_path)
    for first, *others in windows.values():
        assert first == 14600
        assert set(others) == {1460}
    assert run.tables["flows"]["cwnd_bytes"].unique().to_list() == [1460.0]


def test_by_round_the_sums_are_those_of_the_acknowledgements(tmp_path):
    class Both(PythonDctcp):
        def on_ack(self, ack):
            super().on_ack(ack)
            pending[self.flow] = [
                a + b for a, b in zip(pending[self.flow], (ack.acked, ack.marked), strict=True)
            ]

        def on_round(self, ack):
            assert [ack.acked, ack.marked] == pending[self.flow]
            pending[self.flow] = [0, 0]
            rounds.append(ack.now)

        def start(self, flow):
            super().start(flow)
            self.flow = flow.id
            pending[flow.id] = [0, 0]

    class ByRound(shallows.CongestionControl):
        cadence = "round"

        def on_round(self, ack):
            calls.append(ack.acked)
            self.cwnd += 1460

        def on_congestion(self, why, ack):
            self.cwnd /= 2

    pending, rounds, calls = {}, [], []
    simulate(with_cc("both", duration="10ms"), Both, store=tmp_path)
    assert len(rounds) > 10
    run = simulate(with_cc("by-round", duration="10ms"), ByRound, store=tmp_path)
    acks = run.tables["flows"]["packets_sent"].sum()
    assert 10 < len(calls) < acks / 5


def test_a_stopped_run_stops_soon_and_leaves_the_interpreter_free(small):
    document = with_cc("aimd", duration="100s")
    simulation = _core.Simulation(
        json.dumps(resolve(load(document, algorithms=[Aimd]) | {"seed": 1})),
        {"aimd.py:Aimd": Aimd},
    )
    threading.Timer(0.3, simulation.cancel).start()  # needs the lock that the run holds
    with pytest.raises(shallows.RunError, match="cancelled"):
        simulation.run()
    assert 0 < simulation.progress() < 1


def test_an_algorithm_without_end_can_be_interrupted(tmp_path):
    class Stuck(Aimd):
        def on_ack(self, ack):
            started.set()
            while True:
                pass

    def interrupt():
        started.wait()
        os.kill(os.getpid(), signal.SIGINT)

    started = threading.Event()
    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        simulate(with_cc("stuck"), Stuck, store=tmp_path)
    assert list(tmp_path.glob("[0-9a-f]*")) == []
