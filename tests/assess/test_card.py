"""The report card: every row is on it, CUBIC turns none, and planted faults turn the right ones."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT
from shallows.assess import card, cells, judge, show
from shallows.assess.criteria import CARDS, QUEUE, criterion
from shallows.assess.criteria import card as named
from shallows.errors import SpecError
from shallows.execution.jobs import Outcome
from shallows.execution.runner import Runner
from shallows.statistics.estimates import Estimate

CONTROLS = Path(__file__).with_name("controls.py")
TURNED = {"worse than the yardstick", "not shown"}
FAULTS = {
    "ignores-ecn": {"C13": "CoDel that marks"},
    "unfair-to-long-rtts": {"C4": "round trips of 40 and 160 ms"},
    "never-backs-off": {"C3": "4 flows, 0.25 BDP", "C7": "Reno, 4 BDP"},
    "bursts-after-idle": {"C20": "250 KB each 3 s after idle, largest loss"},
    "collapses-on-reordering": {"C19": "1 % held for up to 10 ms"},
    "starves-at-low-rate": {"C16": "64 kb/s, 600 ms"},
    "ignores-rate-cut": {"C21": "20 to 2 Mb/s, largest loss in 5 s"},
    "hides-marks": {"C13": "CoDel that marks"},
    "counts-acks": {"C18": "acknowledgements in 4 pieces"},
    "answers-marks-twice": {"C13": "CoDel that marks, alone"},
    "keeps-window-on-timeout": {"C7": "acknowledgements lost for 2 s"},
    "keeps-window-when-idle": {"C20": "250 KB each 3 s after idle, largest loss"},
    "keeps-old-base-rtt": {"C15": "40 to 160 to 40 ms"},
    "never-below-four": {"C3": "32 flows, a fifth of a packet each"},
}
"""For each planted fault a cell of each row that it turns. One cell that turns is enough to turn its row."""

FEW, MORE = 3, {"C3": 5, "C4": 5, "C13": 5}
"""Seeds of planted faults. Few widen the intervals, so that a row turns less easily. Some rows vary much."""


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    return Runner.of(store=tmp_path_factory.mktemp("store"), workers=2)


def verdicts(control, runner, *rows, kind=CARDS[0]):
    return {row.id: row for row in card.assess(card.plan(control, True, rows, kind=kind), runner)}


def alone(work):
    """The work without yardsticks, which rows with fixed bounds do not need, and with few seeds."""
    assert not any(_ratio(about, cell["name"]) for about in work.criteria.values() for cell in about["cells"])
    points = {key: those[:FEW] for key, those in work.points.items() if key[2] == work.control}
    return replace(work, card=work.card._replace(yardsticks=()), points=points)


def turned(found):
    return [row for row, each in found.items() if each.verdict in TURNED]


@pytest.mark.parametrize("kind", [*CARDS, QUEUE])
@pytest.mark.parametrize("quick", [True, False])
def test_every_row_has_a_file_with_a_reason(kind, quick):
    home = ROOT / "python/shallows/assess/criteria" / kind
    rows = named(kind).rows
    assert {f"{row.lower()}.toml" for row in rows} | {"card.toml"} == {path.name for path in home.glob("*")}
    for row in rows:
        about = criterion(kind, row)
        cells.choose(about, quick)
        judged = about.get("reason") and (about.get("cells") or about.get("words"))
        assert about.get("not_run") or about.get("worst_of") or judged, row
        names = [cell["name"] for cell in about.get("cells", ())]
        assert len(set(names)) == len(names), row


@pytest.mark.parametrize(
    ("kind", "subject"), [("l4s", "prague"), ("datacentre", "dctcp"), (QUEUE, "codel"), (CARDS[0], "cubic")]
)
def test_the_checker_takes_every_cell_of_a_full_card(kind, subject):
    work = card.plan(subject, False, kind=kind)
    assert work.refused == {}
    controls = {control for _, _, control in work.points}
    assert controls == {subject, *work.card.yardsticks}
    assert all(len(points) == card.FULL_SEEDS for points in work.points.values())


def test_a_grid_has_a_cell_for_each_combination():
    grid = {
        "only": "full",
        "rates_mbps": [20, 10_000],
        "round_trips_ms": [40],
        "buffers_bdp": [0.01, 1],
        "mixes": [[1, 4]],
        "set": {"duration": "4s"},
    }
    about = {"cells": [{"name": "first", "set": {}}], "grids": [grid]}
    quick = {"cells": about["cells"], "grids": [grid]}
    cells.choose(quick, True)
    assert [cell["name"] for cell in quick["cells"]] == ["first"]
    cells.choose(about, False)
    found = {cell["name"]: cell["set"] for cell in about["cells"]}
    assert list(found)[1:3] == ["1:4, 20 Mb/s, 40 ms, 0.01 BDP", "1:4, 20 Mb/s, 40 ms, 1 BDP"]
    one = found["1:4, 20 Mb/s, 40 ms, 1 BDP"]
    assert one["queue.limit"] == "67pkt", "20 Mb/s times 40 ms"
    assert found["1:4, 20 Mb/s, 40 ms, 0.01 BDP"]["queue.limit"] == "4pkt"
    assert (one["topology.delay"], one["topology.access_delay"]) == ("19000us", "500us"), (
        "twice 19 + 2 x 0.5 ms"
    )
    assert (one["traffic.candidate.flows"], one["traffic.bystander.flows"]) == (1, 4)
    assert one["duration"] == "4s"
    assert "1:4, 10 Gb/s, 40 ms, 1 BDP" in found


@pytest.mark.parametrize("kind", [*CARDS, QUEUE])
def test_a_quick_card_on_linux_has_few_cells_of_each_row_and_says_so(kind):
    subject = "codel" if kind == QUEUE else "cubic"
    less, whole = (card.plan(subject, True, kind=kind, backend=backend) for backend in ("linux", "simulator"))
    count = {row: len(about["cells"]) for row, about in less.criteria.items() if "cells" in about}
    assert set(count.values()) <= {1, 2, 3}
    assert count.keys() == {row for row, about in whole.criteria.items() if "cells" in about}
    each = less.seeds * len({subject, *less.card.yardsticks})
    assert whole.left == 0 and whole.runs - less.runs == less.left * each
    assert f"leaves out {less.left} cells" in show.note(less)
    assert "leaves out" not in show.note(whole)
    full = card.plan(subject, False, kind=kind, backend="linux")
    assert full.left == 0 and full.runs == card.plan(subject, False, kind=kind).runs
    assert all(
        points[0].experiment["probe"]["queue_trace"] == card.LINUX_SAMPLES for points in less.points.values()
    )


@pytest.mark.parametrize("kind", ["datacentre", QUEUE])
def test_senders_are_as_the_kernel_has_them_on_linux(kind):
    """The kernel has no other profile. In the simulator a card keeps its own."""
    subject = "codel" if kind == QUEUE else "cubic"
    work = card.plan(subject, False, kind=kind, backend="linux")
    loads = [load for points in work.points.values() for load in points[0].experiment["traffic"].values()]
    found = {load["transport"]["profile"] for load in loads if load["kind"] != "datagrams"}
    assert found == {"linux"}
    here = card.plan("cubic", True, kind="datacentre").points.values()
    assert {points[0].experiment["traffic"]["candidate"]["transport"]["profile"] for points in here} == {
        "datacentre"
    }


def test_a_cell_measures_on_linux_what_that_has():
    about = {"cells": [{"name": "one", "set": {}, "metric": "a", "linux": {"metric": "b", "quick": True}}]}
    here, there = copy.deepcopy(about), copy.deepcopy(about)
    assert cells.choose(here, True) == cells.choose(there, True, "linux") == 0
    assert here["cells"] == [{"name": "one", "set": {}, "metric": "a"}]
    assert there["cells"] == [{"name": "one", "set": {}, "metric": "b"}]


@pytest.fixture(scope="module")
def made(runner):
    """The runs of planted faults, of the control without one, and of CUBIC, made at once by two processes."""
    works = {fault: card.plan(f"{CONTROLS}:{fault}", True, list(rows)) for fault, rows in FAULTS.items()}
    points = {}
    for fault, cells_of in FAULTS.items():
        without = card.plan(f"{CONTROLS}:good", True, list(cells_of))
        for row, cell in cells_of.items():
            for work in (works[fault], without):
                for (at, name, label), those in work.points.items():
                    wanted = label == work.control or _ratio(work.criteria[row], cell)
                    if (at, name) == (row, cell) and wanted:
                        points[label, row, cell] = those[: MORE.get(row, FEW)]
    cubic = card.plan("cubic", True)
    for (row, name, label), those in cubic.points.items():
        if label == "cubic" and not _ratio(cubic.criteria[row], name):
            points["all of cubic", row, name] = those[: MORE.get(row, FEW)]
    outcomes = iter(runner.run([one for those in points.values() for one in those], metrics=True))
    return {key: [next(outcomes) for _ in those] for key, those in points.items()}


def _ratio(about, cell):
    """Whether a cell compares with yardsticks."""
    return bool((about | next(each for each in about["cells"] if each["name"] == cell)).get("against"))


def judged(made, work, label, row, cell):
    """A cell's verdict, with the confidence that it has among all cells of its row."""
    about = work.criteria[row]
    whole = judge.whole(about, next(each for each in about["cells"] if each["name"] == cell))
    others = {name: made[name, row, cell] for name in whole.get("against", ())}
    level = judge.confidence(about)
    return judge.judge(cell, whole, level, made[label, row, cell], others)


def test_cubic_turns_no_row(made):
    """Ratios of CUBIC to itself are 1 by construction, so that only fixed bounds show something about it."""
    work = card.plan("cubic", True)
    assert tuple(work.criteria) == named(CARDS[0]).rows
    fixed = [(row, cell) for label, row, cell in made if label == "all of cubic"]
    assert {row for row, _ in fixed} >= {"C1", "C4", "C7", "C14", "C15", "C16", "C18"}
    found = {each: judged(made, work, "all of cubic", *each) for each in fixed}
    assert [each for each, cell in found.items() if cell.verdict not in ("shown", "not determined")] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_turns_its_rows(fault, made):
    work = card.plan(f"{CONTROLS}:{fault}", True, list(FAULTS[fault]))
    for row, cell in FAULTS[fault].items():
        assert judged(made, work, "good", row, cell).verdict not in (*TURNED, "failed"), row
        assert judged(made, work, fault, row, cell).verdict in TURNED, row


def test_a_row_is_the_worst_of_others_with_its_queue():
    about = {"worst_of": ["C2", "C3"], "title": "tail drop", "queue": "drop-tail"}
    whole = {"experiment": {"queue": {"kind": "drop-tail"}}}

    def cell(name, verdict, set_):
        return judge.Cell(name, verdict, Estimate(1.0, 0.9, 1.1, 5), {}, "", {"at_most": 2.0, "set": set_})

    codel = cell("c", "failed", {"queue": {"kind": "codel"}})
    rows = [
        card.Row("C2", whole, "shown", [cell("a", "shown", {})], ""),
        card.Row("C3", whole, "failed", [codel, cell("b", "not shown", {})], ""),
    ]
    row = card._worst_of("C10", about, rows)
    assert (row.verdict, row.cells[0].name) == ("not shown", "C3, b")


PLANTED = [
    ("datacentre", "dctcp", "cubic", ["D5"]),
    (QUEUE, "codel", "codel,target=1s,limit=1000pkt", ["Q1"]),
]
"""Card, a good candidate and a bad one: CUBIC in a full buffer, a law that never acts."""


@pytest.mark.parametrize(("kind", "good", "bad", "rows"), PLANTED)
def test_a_planted_fault_turns_its_rows_of_the_other_cards(kind, good, bad, rows, runner):
    assert turned(verdicts(good, runner, *rows, kind=kind)) == []
    assert turned(verdicts(bad, runner, *rows, kind=kind)) == rows


def test_a_planted_fault_turns_its_rows_of_the_l4s_card(runner):
    """CUBIC in ECT(1)."""
    found = {
        control: card.assess(alone(card.plan(control, True, ["L4", "L8"], kind="l4s")), runner)
        for control in ("prague", "cubic")
    }
    assert {row.id: row.verdict in TURNED for row in found["prague"]} == {"L4": False, "L8": False}
    assert {row.id: row.verdict in TURNED for row in found["cubic"]} == {"L4": True, "L8": True}


def test_the_cells_of_a_row_share_the_error():
    cells = [{"against": ["cubic", "newreno"]}, {"against": []}, {}]
    assert judge.confidence({"cells": cells}) == pytest.approx(1 - 0.05 / 4)
    assert judge.confidence({"cells": cells, "against": ["cubic"]}) == pytest.approx(1 - 0.05 / 4)
    assert judge.confidence({"cells": [{}]}) == pytest.approx(0.95)


def test_the_metric_of_a_cell_replaces_the_measure_of_its_row():
    """Two cells of C20 and C21 had the row's time to recover, and no queue and no drops."""
    row = {"measure": {"kind": "recovery"}, "at_least": 1.0, "title": "x", "cells": [], "experiment": {}}
    own = {"metric": "drops", "at_most": 2.0}
    assert judge.whole(row, own) == {"title": "x", **own}
    assert judge.whole(row, {"name": "a"})["measure"] == {"kind": "recovery"}
    for kind in (*CARDS, QUEUE):
        for about in (criterion(kind, name) for name in named(kind).rows):
            for cell in about.get("cells", ()):
                assert ("metric" in judge.whole(about, cell)) != ("measure" in judge.whole(about, cell))


def test_a_yardstick_without_a_value_leaves_its_cell_undecided():
    """The other yardstick alone judged the cell, without a word."""

    def runs(value):
        return [Outcome(None, "", "done", metrics={"drops": value})] * 2

    about = {"metric": "drops", "at_most": 1.0, "against": ["cubic", "newreno"], "cells": [{}]}
    others = {"cubic": runs(4.0), "newreno": runs(None)}
    cell = judge.judge("one", about, 0.95, runs(2.0), others)
    assert (cell.verdict, cell.error) == ("failed", "newreno has no such value")
    some = [Outcome(None, "", "done", metrics={"drops": value}) for value in (0.0, 2.0)]
    both = others | {"newreno": runs(4.0)}
    mixed = judge.judge("one", about, 0.95, some, both)
    assert (mixed.verdict, mixed.error) == ("not determined", "the candidate has zero in some run")
    assert judge.judge("one", about, 0.95, runs(2.0), both).verdict == "shown"


def test_a_row_is_the_worst_of_others_only_if_the_card_has_them(runner):
    [row] = verdicts("newreno", runner, "C10").values()
    assert (row.verdict, row.cells) == ("not run", [])
    assert "not on this card" in row.why


def test_a_control_that_crashes_is_named_and_the_card_goes_on(runner):
    found = verdicts(f"{CONTROLS}:crashes", runner, "C16", "C22")
    [*_, last] = found["C16"].cells
    assert (found["C16"].verdict, found["C22"].verdict) == ("failed", "not run")
    assert "division by zero" in found["C16"].cells[0].error
    assert 'controls.py", line' in found["C16"].cells[0].error
    assert last.beside["cubic"] > 0


@pytest.mark.parametrize(("control", "value"), [("says-nan", "nan"), ("says-negative", "-7240.0")])
def test_a_window_that_is_no_window_is_named_and_the_card_goes_on(control, value, runner):
    work = alone(card.plan(f"{CONTROLS}:{control}", True, ["C16"]))
    [row] = card.assess(work, runner, repeat=False)
    assert [cell.verdict for cell in row.cells] == ["failed"] * 3
    assert f"on_congestion left cwnd = {value}, which must be a finite number above 0" in row.cells[0].error


def test_a_control_that_is_not_repeatable_is_named(runner):
    found = verdicts(f"{CONTROLS}:asks-a-clock", runner, "C16")["C16"]
    [named_] = [cell.error for cell in found.cells if cell.error]
    assert found.verdict == "failed"
    assert named_ == "seed 1: the control is not repeatable: a second run gave other tables"


def test_a_control_has_settings_and_the_card_names_them():
    work = card.plan("bbr3,loss_thresh=0.05", True, ["C16"])
    loads = {
        label: points[0].experiment["traffic"]["candidate"] for (_, _, label), points in work.points.items()
    }
    assert loads["bbr3,loss_thresh=0.05"]["transport"]["cc"]["loss_thresh"] == 0.05
    assert loads["cubic"]["transport"]["cc"]["kind"] == "cubic"
    with pytest.raises(SpecError, match="loss_thresh"):
        card.plan("bbr3,loss_tresh=0.05", True, ["C16"])


def test_a_control_that_the_checker_refuses_everywhere_runs_nothing():
    with pytest.raises(SpecError, match="nonsense"):
        card.plan("nonsense", True, ["C2"])


def test_a_row_that_the_backend_does_not_measure_is_not_run(runner):
    work = card.plan("newreno", True, ["C18"])
    [first, *others] = work.criteria["C18"]["cells"]
    work.criteria["C18"] |= {"metric": "candidate.moods", "cells": [first]}
    for each in others:
        for label in ("cubic", "newreno"):
            del work.points["C18", each["name"], label]
    [row] = card.assess(work, runner)
    assert (row.verdict, row.why) == ("not run", "this backend has no candidate.moods")


def test_a_row_repeats_on_its_backend():
    said = show.command("./shallows", "cubic", True, "linux", "7.2", Path("mine.toml"))
    assert said == "./shallows assess cubic --quick --backend linux --kernel 7.2 --criteria mine.toml"


def test_an_unknown_row_runs_nothing():
    with pytest.raises(SpecError, match="C99"):
        card.plan("cubic", True, ["C99"])


def test_an_edited_bound_is_named(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[C3]\nat_most = 3\n")
    work = card.plan("cubic", True, ["C3"], file)
    assert work.criteria["C3"]["at_most"] == 3
    assert work.edited == ["C3.at_most: 3 in place of 2"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[C99]\nat_most = 1\n", "C99"),
        ("[C3]\nat_least = 1\n", "must be the row's bound"),
        ("[C3]\nat_most = 'much'\n", "must be a number above zero"),
        ("[C24]\nscope = 3\n", "must be a text"),
        ("[C24]\nmood = 'good'\n", "must be one of deviations, scope, tunnels"),
        ("C3", "cannot be read"),
    ],
)
def test_a_bad_edit_runs_nothing(text, told, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=told):
        card.plan("cubic", True, ["C3", "C24"], file)


def test_words_come_from_the_control_or_its_file(runner, tmp_path):
    built_in = verdicts("dctcp", runner, "C24")["C24"]
    assert (built_in.verdict, list(built_in.words)) == ("shown", ["deviations", "scope", "tunnels"])
    assert "RFC 8257" in show.reading("dctcp", built_in)
    [mine] = verdicts(f"{CONTROLS}:good", runner, "C24").values()
    assert (mine.verdict, mine.words) == ("not shown", {"deviations": "None: the rules of RFC 5681."})
    assert show.reading("good", mine).startswith("The author gives no scope and no tunnels. Deviations: None")
    file = tmp_path / "words.toml"
    file.write_text('[C24]\nscope = "Any path."\ntunnels = "As any."\n')
    [row] = card.assess(card.plan(f"{CONTROLS}:good", True, ["C24"], file), runner)
    assert (row.verdict, row.words["scope"]) == ("shown", "Any path.")


@pytest.mark.parametrize("name", ["nonsense", f"{CONTROLS}:nonsense", f"{CONTROLS}:bad-words"])
def test_words_of_no_control_or_no_texts_run_nothing(name):
    with pytest.raises(SpecError, match="must be a"):
        card.plan(name, True, ["C24"])


def test_a_discipline_has_settings_and_the_card_names_them():
    work = card.plan("codel,target=1ms", True, ["Q1"], kind=QUEUE)
    queue = {control: points[0].experiment["queue"] for (_, _, control), points in work.points.items()}
    assert work.control == "codel,target=1ms"
    assert queue["codel,target=1ms"]["target"] == "1ms"
    assert queue["drop-tail"]["limit"] == queue["codel,target=1ms"]["limit"] == "167pkt"
    with pytest.raises(SpecError, match="NAME,key=value"):
        card.plan("codel,target", True, ["Q1"], kind=QUEUE)


def test_an_unknown_card_runs_nothing():
    with pytest.raises(SpecError, match="rfc9743, l4s, datacentre"):
        card.plan("cubic", True, kind="wireless")
