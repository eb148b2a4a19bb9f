"""Sweeps on a dask cluster of processes: killed, stopped, of another version; and each trouble by itself."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import shallows
from conftest import SMALL, write_toml
from conftest import shallows as command
from shallows.backends.simulator import Simulator
from shallows.cli.options import executor as executor_of
from shallows.document.points import expand
from shallows.errors import RunError, SpecError, StoreError
from shallows.execution.dask import workers as crews
from shallows.execution.dask.connect import job_script, to_address, to_slurm
from shallows.execution.dask.executor import TRIES, Cluster, _make
from shallows.execution.dask.workers import Patience, examine
from shallows.execution.jobs import Work, identify, release
from shallows.execution.runner import Runner
from shallows.results.store import Store
from sweeping import Failing, table_bytes, wait_for_runs

pytest.importorskip("distributed")

SWEPT = SMALL | {"duration": "200ms", "seeds": 10, "sweep": {"grid": {"transport.cc.g": [0.05, 0.1, 0.2]}}}

OTHER = "from shallows.execution.dask import workers; workers.release = lambda: '9.9'; "
WORKER = "import sys; from distributed.cli.dask_worker import main; sys.exit(main())"


class Processes:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, place):
        self.place, self.file = place, place / "scheduler.json"
        self.all = {}
        self.start("scheduler", "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard")

    def start(self, name, *args):
        command = [sys.executable, *args, "--scheduler-file", str(self.file)]
        with (self.place / f"{name}.log").open("w") as log:
            self.all[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.place)

    def worker(self, name, before=""):
        self.start(
            name, "-c", before + WORKER, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--name", name
        )

    def kill(self, name, how=signal.SIGKILL):
        os.kill(self.all[name].pid, how)

    def stop(self):
        for process in self.all.values():
            process.kill()
            process.wait()

    def wait_for_scheduler(self):
        until = time.monotonic() + 240
        while not self.file.exists():
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.fixture
def processes(tmp_path):
    found = []

    def start(name="cluster"):
        (tmp_path / name).mkdir()
        found.append(Processes(tmp_path / name))
        return found[-1]

    yield start
    for each in found:
        each.stop()


def test_a_sweep_whose_workers_die_hang_or_differ_equals_the_undisturbed_one(tmp_path, processes):
    there, told = processes(), []
    for name in ("good", "dies", "hangs"):
        there.worker(name)
    there.worker("differs", OTHER)
    there.wait_for_scheduler()
    until = time.monotonic() + 240

    def disturb(done, failed=0):
        assert time.monotonic() < until
        if done >= 8 and there.all["dies"].poll() is None:
            there.kill("dies")
            there.kill("hangs", signal.SIGSTOP)

    place = Cluster(to_address(str(there.file)), Patience(silent_s=3.0, poll_s=0.2), told.append)
    outcomes = shallows.sweep(SWEPT, store=tmp_path / "runs", executor=place, progress=disturb)
    whole = shallows.sweep(SWEPT, store=tmp_path / "whole")
    assert [o.error for o in outcomes if o.error] == []
    assert [(o.hash, o.metrics) for o in outcomes] == [(o.hash, o.metrics) for o in whole]
    assert table_bytes(tmp_path / "runs") == table_bytes(tmp_path / "whole")
    # A worker that was killed may leave a temporary directory, which is cleared when it is an hour old.
    assert {path.name for path in (tmp_path / "runs").glob("[!.]*")} == {o.hash for o in whole}
    words = "\n".join(told)
    assert "differs" in words and "runs another version (Shallows 9.9" in words
    assert "worker dies" in words and "is gone" in words


def test_killed_clients_and_schedulers_cost_only_the_runs_under_way(tmp_path, processes):
    first, second = processes("first"), processes("second")
    first.worker("a")
    first.worker("b")
    first.wait_for_scheduler()
    file, store = write_toml(tmp_path / "swept.toml", SWEPT), tmp_path / "runs"
    sweep = ["sweep", file, "--store", store, "--json", "--cluster"]
    client = subprocess.Popen(
        [sys.executable, "-m", "shallows", *map(str, sweep), str(first.file)], stdout=subprocess.DEVNULL
    )
    wait_for_runs(client, store, 3)
    client.kill()
    client.wait()

    def kill_the_scheduler(done, failed=0):
        if done >= 8:
            first.kill("scheduler")

    place = Cluster(to_address(str(first.file)), Patience(poll_s=0.2), print)
    with pytest.raises(RunError, match="scheduler is gone"):
        shallows.sweep(SWEPT, store=store, executor=place, progress=kill_the_scheduler)
    second.worker("only")
    second.wait_for_scheduler()
    before = {path.name for path in store.glob("[0-9a-f]*")}
    assert len(before) >= 8
    done = command(*sweep, second.file, "--timeout", "60s", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)["points"]
    assert {point["hash"] for point in points if point["status"] == "stored"} >= before
    shallows.sweep(SWEPT, store=tmp_path / "whole")
    assert table_bytes(store) == table_bytes(tmp_path / "whole")
    assert {path.name for path in store.glob("[0-9a-f]*")} == {point["hash"] for point in points}


class Stage:
    """A client without a cluster: tasks run here and now, or for one seed act as ordered."""

    status = "running"

    def __init__(self, acts, seed):
        self.acts, self.seed, self.turn, self.asked = list(acts), seed, 0, []
        self.names = ["tcp://a:1", "tcp://b:1", "tcp://c:1"]

    def scheduler_info(self):
        return {
            "workers": {name: {"name": name[6], "nthreads": 1, "last_seen": self.turn} for name in self.names}
        }

    def submit(self, function, *args, key, workers=None, **rest):
        if function is examine:
            return Answer(key, lambda: examine(*args))
        self.turn += 1
        self.asked.append(workers)
        mine = self.acts and (self.seed is None or args[0]["experiment"]["seed"] == self.seed)
        act = self.acts.pop(0) if mine else None
        return Answer(key, lambda: (act() if act else _make(args[0])) | {"worker": workers[0]})

    def cancel(self, futures):
        pass

    def processing(self, workers):
        return {}


class Answer:
    def __init__(self, key, work):
        self.key, self.status = key, "finished"
        self.work = work

    def done(self):
        return True

    def result(self, timeout=None):
        return self.work()

    def add_done_callback(self, put):
        put(self)

    def release(self):
        pass


def on_stage(tmp_path, *acts, seeds=1, seed=1):
    stage = Stage(acts, seed)
    place = Cluster(lambda: nullcontext(stage), Patience(poll_s=0.0, unfit_s=0.1), print)
    runner = Runner.of(store=tmp_path / "runs", executor=place)
    outcomes = runner.run(expand(SMALL | {"seeds": seeds}), metrics=True)
    return outcomes, stage


def killed():
    from distributed.scheduler import KilledWorker

    raise KilledWorker("run", SimpleNamespace(address="tcp://a:1"), 3)


def test_trouble_moves_a_run_to_other_workers(tmp_path):
    (outcome,), stage = on_stage(tmp_path, lambda: {"trouble": "is out of memory"}, killed)
    assert outcome.status == "done"
    assert outcome.metrics["goodput_bps_total"] > 0
    assert "tcp://a:1" not in stage.asked[1] + stage.asked[2]


def test_a_run_that_kills_its_workers_is_reported_by_their_names_and_the_others_go_on(tmp_path):
    poison = [killed] + [lambda: {"trouble": "took longer than 5 s"}] * (TRIES - 1)
    outcomes, _ = on_stage(tmp_path, *poison, seeds=2)
    assert [o.status for o in outcomes] == ["failed", "done"]
    bad = outcomes[0]
    assert bad.error.startswith(f"given up after {TRIES} tries: worker a (tcp://a:1) died during the run; ")
    assert bad.error.count("took longer than 5 s") == TRIES - 1


def test_a_store_that_is_full_for_all_stops_the_sweep(tmp_path):
    full = [lambda: {"trouble": "no space left on the disk", "store": True}] * 50
    with pytest.raises(StoreError, match="no space left"):
        on_stage(tmp_path, *full, seeds=5, seed=None)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_run_that_fails_of_itself_is_not_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr("shallows._core.Simulation", Failing)
    monkeypatch.setattr("shallows.tables.metrics.with_sizes", lambda tables, summary: {})
    outcomes, stage = on_stage(tmp_path, seeds=3)
    assert [o.status for o in outcomes] == ["done", "failed", "done"]
    assert outcomes[1].error == "seed 2 is unlucky"
    assert len(stage.asked) == 3


def test_a_run_stored_elsewhere_does_not_count(tmp_path):
    lies = [lambda: {"status": "done", "error": None, "metrics": {}}] * TRIES
    (outcome,), _ = on_stage(tmp_path, *lies)
    assert outcome.status == "failed"
    assert "stored it in a place that this machine cannot see" in outcome.error


def test_workers_that_cannot_serve_are_named_and_the_sweep_ends(tmp_path, monkeypatch):
    releases = iter([release()])  # this machine's first, and then the worker's
    monkeypatch.setattr(crews, "release", lambda: next(releases, "9.9"))
    with pytest.raises(RunError, match=r"no worker .* b \(tcp://b:1\) runs another version"):
        on_stage(tmp_path)


def test_a_worker_that_hangs_after_its_examination_is_asked_again(tmp_path):
    answers = iter([TimeoutError("timed out after 3 s."), None])

    def result(timeout):
        if (answer := next(answers)) is not None:
            raise answer

    examined = SimpleNamespace(done=lambda: True, status="finished", result=result)
    there = {"workers": {"tcp://here:1": {"name": "slow", "nthreads": 2, "last_seen": 1.0}}}
    client = SimpleNamespace(status="running", scheduler_info=lambda: there, submit=lambda *_, **__: examined)
    crew = crews.Crew(client, tmp_path, Simulator(), Patience(silent_s=3.0, poll_s=0.2), print)
    assert (crew.look(), crew.fit) == (set(), [])
    assert (crew.look(), crew.fit, crew.threads) == (set(), ["tcp://here:1"], 2)
    crew.close()


def test_a_worker_that_sees_another_store_or_cannot_write_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(crews.time, "sleep", lambda _: None)
    what = "token", Simulator(), release(), Simulator().fingerprint()
    assert "does not see the store" in examine(str(tmp_path), *what)
    (tmp_path / "token").touch()
    assert examine(str(tmp_path), *what) is None
    monkeypatch.setattr(Store, "prepare", lambda self: (_ for _ in ()).throw(StoreError("read-only")))
    assert "cannot use the store: read-only" in examine(str(tmp_path), *what)


def request(tmp_path, **changed):
    (point,) = expand(SMALL)
    Store(tmp_path).prepare()
    base = about(point) | {"backend": Simulator(), "store": str(tmp_path)}
    return base | {"metrics": False, "limit_s": None} | changed


def about(point):
    name = identify(point, Simulator()).name
    return {"hash": name, "key": point.key, "experiment": point.experiment}


def test_a_task_says_what_is_wrong_with_its_machine(tmp_path, monkeypatch):
    assert "runs another version" in _make(request(tmp_path, hash="0" * 20))["trouble"]
    (long,) = expand(SMALL | {"duration": "1000s"})
    endless = request(tmp_path, **about(long), limit_s=0.05)
    assert _make(endless)["trouble"] == "took longer than 0.05 s"
    assert _make(request(tmp_path, limit_s=60))["status"] == "done"
    assert _make(request(tmp_path))["status"] == "stored"
    monkeypatch.setattr(Store, "find", lambda *_: None)
    monkeypatch.setattr(
        Store, "save", lambda *_: (_ for _ in ()).throw(StoreError("no space left on the disk"))
    )
    assert _make(request(tmp_path)) == {"trouble": "no space left on the disk", "store": True}
    monkeypatch.setattr(Work, "do", lambda *_: (_ for _ in ()).throw(MemoryError))
    assert _make(request(tmp_path)) == {"trouble": "is out of memory"}


def test_the_job_script_of_slurm_asks_for_what_was_given():
    script = job_script(
        "jobs=4, cores=16, memory=64GB, walltime=08:00:00, queue=short, account=net, processes=2"
    )
    for line in ("-p short", "-A net", "--cpus-per-task=16", "--mem=60G", "-t 08:00:00"):
        assert f"#SBATCH {line}\n" in script
    assert "distributed.cli.dask_worker" in script
    assert "--nthreads 8 " in script and "--nworkers 2 " in script


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"address": "nonsense"}, ["--cluster"]),
        ({"address": "missing.json"}, ["--cluster"]),
        (
            {"address": "a:1", "slurm": "jobs=1"},
            ["--slurm", "--slurm cores", "--slurm memory", "--slurm walltime"],
        ),
        (
            {"slurm": "jobs=0,core=1,cores=1,memory=1,walltime=1h"},
            ["--slurm core", "--slurm jobs", "--slurm memory"],
        ),
        (
            {"slurm": "jobs=1,jobs=2,cores,memory=1GB,walltime=1:00:00"},
            ["--slurm", "--slurm cores", "--slurm jobs"],
        ),
        ({"timeout": "5", "address": "a:1"}, ["--timeout"]),
        ({"timeout": "0s", "address": "a:1"}, ["--timeout"]),
        ({"workers": 3, "address": "a:1"}, ["--workers"]),
    ],
)
def test_options_that_mean_nothing_are_refused_all_at_once(options, found):
    base = dict.fromkeys(("address", "slurm", "timeout", "workers"))
    with pytest.raises(SpecError) as caught:
        executor_of(**base | options)
    assert set(found) <= {fault.path for fault in caught.value.faults}


def test_an_executor_is_made_where_it_is_asked_for():
    assert executor_of(None, None, None, 3) is None
    assert isinstance(executor_of("host:8786", None, "10s"), Cluster)
    assert callable(to_slurm("jobs=1,cores=1,memory=1GB,walltime=00:10:00"))


def test_no_scheduler_is_an_error_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr("shallows.execution.dask.connect.CONNECT_S", 1)
    (tmp_path / "s.json").write_text('{"address": "tcp://127.0.0.1:9"}')
    with pytest.raises(RunError, match="no dask scheduler answers"):
        shallows.sweep(SMALL, store=tmp_path / "runs", executor=Cluster(to_address(str(tmp_path / "s.json"))))
