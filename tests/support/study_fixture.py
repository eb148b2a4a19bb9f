"""A tiny paper with one figure, and a stand-in for the simulator that returns hand-made tables."""

from shallows.backends.base import Made
from shallows.backends.simulator import Simulator
from shallows.errors import RunError
from synthetic import small_run

SPEC = """
duration = "1s"
seeds = 3
[transport.cc]
kind = "xdctcp"
[sweep]
grid = { "transport.cc.ns" = [0.4, 0.5] }
"""

QUICK = """
[spec]
duration = "100ms"
seeds = 1
"""

CLAIMS = """
[[claim]]
id = "delay"
statement = "Mean wait of the short flows"
kind = "published"
sentence = "Short flows wait 73 us."
where = "table 1"
published = 73.0
unit = "us"
tolerance = { relative = 0.02, because = "test" }
expected = { full = "holds", quick = "not-determined" }

[[claim]]
id = "gain"
statement = "ns = 0.4 waits less"
kind = "published"
sentence = "0.4 waits less."
where = "table 1"
published = true
expected = { full = "holds", quick = "not-determined" }

[[claim]]
id = "unmeasured"
statement = "Never measured"
kind = "published"
sentence = "Nobody measured it."
where = "table 1"
published = true
expected = { full = "not-determined", quick = "not-determined" }
"""

FIGURE = '''
"""Draws nothing much."""
from shallows.studies import Figure
from shallows.studies.paper.claims import is_below
from shallows.figures import queue_cdf
from shallows.tables.metrics import class_metrics
from shallows.statistics.estimates import paired_difference

def _waits(runs, **which):
    frame = runs.where(**which).frame(lambda t: {"us": class_metrics(t, "short")["wait_mean_ps"] / 1e6})
    return frame.sort("seed")["us"].to_list()

def measure(runs):
    gain = paired_difference(_waits(runs, ns=0.4), _waits(runs, ns=0.5))
    return {"delay": _waits(runs, ns=0.5), "gain": is_below(gain, unit="us")}

def draw(runs, reference):
    return {"queue": queue_cdf.draw(queue_cdf.info({"ns = 0.5": runs.first(ns=0.5).tables}))}

def tables(runs):
    return {"Published <numbers>": runs.frame(lambda t: {"jain": 1.0})}

FIGURE = Figure(
    specs={"spec": "spec.toml"},
    measure=measure,
    draw=draw,
    tables=tables,
)
'''

README = """# Table 1 of the test

What `x < y` says, with **weight**:

- one thing
- another
  that goes on

| a | b |
|---|---|
| 1 | 2 |

```
./shallows run <file>
```
"""


def write_paper(root):
    """`root/paper/fig/` as a user would write it."""
    figure = root / "paper" / "fig"
    figure.mkdir(parents=True)
    (figure.parent / "README.md").write_text("# A paper\n\nIts `fig` is all.\n")
    for name, text in [("spec.toml", SPEC), ("quick.toml", QUICK), ("claims.toml", CLAIMS),
                       ("figure.py", FIGURE), ("README.md", README)]:  # fmt: skip
        (figure / name).write_text(text)
    return root


def declare(root, *fields):
    """Adds fields to the `FIGURE` of `root/paper/fig/figure.py`, or replaces those that it has."""
    module = root / "paper" / "fig" / "figure.py"
    head, start, last = module.read_text().partition("FIGURE = Figure(\n")
    given = dict(line.strip().rstrip(",").split("=", 1) for line in last.splitlines() if "=" in line)
    given |= dict(field.split("=", 1) for field in fields)
    module.write_text(head + start + "".join(f"    {k}={v},\n" for k, v in given.items()) + ")\n")
    return module


def fake_simulator(monkeypatch, fails=lambda experiment: False, about=None):
    """Replaces checker and simulator: the wait follows ns and the seed. Returns the list of runs.

    Manifests have `about`.
    """
    ran = []

    def run(self, experiment, running):
        if fails(experiment):
            raise RunError("the network caught fire")
        ran.append(experiment)
        wait_us = 65 + 10 * experiment["transport"]["cc"]["ns"] + 0.05 * experiment["seed"]
        return Made(small_run(wait_us), about or {})

    monkeypatch.setattr("shallows.document.points.check_with_memory", lambda document: (document, [], 0))
    monkeypatch.setattr("shallows.execution.jobs.release", lambda: "0.0-test")
    monkeypatch.setattr(Simulator, "check", lambda self, experiment: None)
    monkeypatch.setattr(Simulator, "fingerprint", lambda self: "abc")
    monkeypatch.setattr(Simulator, "run", run)
    return ran
