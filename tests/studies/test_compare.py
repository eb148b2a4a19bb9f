"""Comparisons: the same arrivals for all, refusal of unequals, intervals against scipy, the page."""

import json
import re

import jsonschema
import numpy as np
import polars as pl
import pytest
import shallows
from conftest import ROOT, SMALL, write_toml
from conftest import shallows as command
from scipy import stats as scipy_stats
from shallows.document.points import expand
from shallows.errors import SpecError
from shallows.execution.runner import Runner
from shallows.studies.compare.comparison import arrived, compare
from shallows.studies.compare.section import read, split_list

WEB = SMALL | {
    "duration": "20ms",
    "seeds": 4,
    "topology": SMALL["topology"] | {"senders": 4},
    "traffic": {
        "web": {
            "kind": "poisson", "from": "s*", "to": "r0", "load": 0.6,
            "sizes": {"kind": "empirical", "name": "google_rpc"},
        },
        "long": {"kind": "bulk", "from": "s0", "to": "r0", "jitter": "1ms"},
    },
}  # fmt: skip


@pytest.fixture
def file(tmp_path):
    return write_toml(tmp_path / "web.toml", WEB)


SCHEMES = [
    ["queue=codel"],
    ["queue=drop-tail", "transport.cc=cubic"],
    ["transport.cc=newreno", "transport.initial_window=2pkt"],
]


@pytest.mark.parametrize("settings", SCHEMES, ids=str)
def test_a_seed_gives_every_scheme_the_same_arrivals(tmp_path, settings):
    for seed in (1, 2):
        base = shallows.run(WEB | {"seeds": [seed]}, store=tmp_path)
        other = shallows.run(WEB | {"seeds": [seed]}, settings=settings, store=tmp_path)
        assert base.hash != other.hash
        for load in ("web", "long"):
            ours = arrived(base.tables, load)
            assert len(ours) > 0
            assert ours.equals(arrived(other.tables, load)), load
    apart = shallows.run(WEB | {"seeds": [3]}, store=tmp_path)
    assert not arrived(apart.tables, "web").equals(arrived(base.tables, "web"))


def test_several_queue_pairs_of_a_load_are_the_same_arrivals(tmp_path):
    star = {"kind": "star", "senders": 2, "rate": "10Gbps", "delay": "1us"}
    load = {"kind": "bulk", "from": "s*", "to": "r0", "bytes": "100KB"}
    transport = {"profile": "roce", "cc": "line-rate"}
    fabric = {"duration": "1ms", "topology": star, "queue": {"kind": "drop-tail", "limit": "none"}}
    one, three = (
        shallows.run(fabric | {"transport": transport | {"qps": qps}, "traffic": {"x": load}}, store=tmp_path)
        for qps in (1, 3)
    )
    assert (len(one.tables["flows"]), len(three.tables["flows"])) == (2, 6)
    assert arrived(one.tables, "x").equals(arrived(three.tables, "x"))


def test_connections_that_outlive_the_warmup_under_one_scheme_alone_are_no_difference(tmp_path):
    """A deep queue keeps connections alive across the warm-up's end that have ended behind a short one."""
    traffic = {"kind": "poisson", "from": "s*", "to": "r0", "every": "100us"}
    web = traffic | {"sizes": {"kind": "uniform", "min": "5KB", "max": "40KB"}}
    file = write_toml(tmp_path / "short.toml", SMALL | {"warmup": "1ms", "traffic": {"web": web}})
    found = compare(read([file], vary=["queue.mark_at=2pkt,90pkt"], seeds=4), Runner.of(store=tmp_path))
    early = pl.col("start_ps") < 10**9
    alive = [[len(run.tables["flows"].filter(early)) for run in runs] for runs in found.runs.values()]
    assert alive[0] != alive[1]
    assert found.arrivals == {"web": {"mark_at 90pkt": True}}


@pytest.mark.parametrize("rounds", [100, 2])
def test_means_over_other_rounds_are_warned_of(tmp_path, rounds):
    """A faster scheme ends more rounds within the run, and later rounds are unlike the first."""
    query = {"kind": "incast", "from": "s*", "to": "r0", "response": "15KB", "gap": "10us"}
    query |= {"rounds": rounds, "connection": "fresh"}
    document = SMALL | {"duration": "5ms", "traffic": {"query": query}}
    what = read([document], vary={"transport.initial_window": ["1pkt", "20pkt"]}, seeds=2)
    found = compare(what, Runner.of(store=tmp_path))
    ended = [sum(one["query.rounds"] for one in each) for each in found.values.values()]
    warned = [text for text in found.warnings if text.startswith("ended rounds of query differ")]
    assert (ended[0] != ended[1]) == bool(warned) == (rounds == 100)
    assert ended == [4, 4] or f"initial_window 20pkt {ended[1]})" in warned[0]


def test_differences_ratios_and_p_are_those_of_scipy(tmp_path, file):
    what = read([file], vary=["queue.mark_at=20pkt,60pkt"], metrics=["bottleneck_m*", "drops"], seeds=8)
    found = compare(what, Runner.of(store=tmp_path / "runs"))
    assert {name: set(by.values()) for name, by in found.arrivals.items()} == {"web": {True}, "long": {True}}
    a, b = (
        np.array([v["bottleneck_mean_packets"] for v in found.values[f"mark_at {k}pkt"]]) for k in (60, 20)
    )
    (row,) = [row for row in found.rows if row.metric == "bottleneck_mean_packets"]
    difference = scipy_stats.ttest_rel(a, b)
    ratio = scipy_stats.ttest_rel(np.log(a), np.log(b))
    assert row.difference.ci == pytest.approx(list(difference.confidence_interval()))
    assert row.ratio.ci == pytest.approx(np.exp(list(ratio.confidence_interval())).tolist())
    assert row.p == pytest.approx(ratio.pvalue)
    assert row.verdict == "real" and row.ratio.low > 1
    assert row.p_adjusted >= row.p
    assert found.family == len(found.rows) == 4


def test_a_scheme_against_itself_is_identical_and_nothing_is_real(tmp_path, file):
    found = compare(read([file], schemes=["one=", "two="]), Runner.of(store=tmp_path / "runs"))
    assert {row.verdict for row in found.rows} <= {"identical", "no-value"}
    assert "identical" in {row.verdict for row in found.rows}
    assert {row.p_adjusted for row in found.rows if row.p is not None} == {1.0}


def test_schemes_are_written_in_four_ways_and_mean_the_same(tmp_path, file):
    other = write_toml(tmp_path / "codel.toml", WEB | {"queue": {"kind": "codel", "target": "1ms"}})
    table = {"web": {}, "codel": {"queue": {"kind": "codel", "target": "1ms"}}}
    own = write_toml(tmp_path / "own.toml", WEB | {"compare": {"schemes": table}})
    ways = [
        read([file, other]),
        read([file], schemes=["web=", "codel=queue=codel,queue.target=1ms"]),
        read([file], schemes=["web=", 'codel=queue={kind="codel", target="1ms"}']),
        read([own]),
    ]
    experiments = [[[p.experiment for p in s.points] for s in way.schemes] for way in ways]
    assert all(each == experiments[0] for each in experiments)
    assert [[s.name for s in way.schemes] for way in ways] == [["web", "codel"]] * 4


def test_a_table_without_kind_is_walked_into_and_one_with_kind_stands_for_all(tmp_path):
    table = {"a": {}, "b": {"transport": {"cc": {"kind": "dctcp", "g": 0.25}}, "queue": {"mark_at": "30pkt"}}}
    what = read([write_toml(tmp_path / "f.toml", WEB | {"compare": {"schemes": table, "baseline": "b"}})])
    assert [scheme.name for scheme in what.schemes] == ["b", "a"]
    experiment = what.schemes[0].points[0].experiment
    assert experiment["queue"]["limit"] == "100pkt"
    assert experiment["queue"]["mark_at"] == "30pkt"
    assert experiment["traffic"]["web"]["transport"]["cc"]["g"] == 0.25


def test_several_vary_multiply(file):
    what = read([file], vary=["transport.cc=dctcp,cubic", "queue.mark_at=10pkt,20pkt"], seeds=3)
    names = [s.name for s in what.schemes]
    assert names == [
        "dctcp, mark_at 10pkt",
        "dctcp, mark_at 20pkt",
        "cubic, mark_at 10pkt",
        "cubic, mark_at 20pkt",
    ]
    assert what.seeds == [1, 2, 3]


def test_commas_in_brackets_and_quotes_do_not_part():
    assert split_list('a=[1,2], b={c="x,y"}, d="p,q"') == ["a=[1,2]", 'b={c="x,y"}', 'd="p,q"']


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"duration": "30ms"}, "duration"),
        ({"topology": {**WEB["topology"], "senders": 5}}, "topology.senders"),
        ({"topology": {**WEB["topology"], "delay": "20us"}}, "topology.delay"),
        ({"traffic": {**WEB["traffic"], "web": {**WEB["traffic"]["web"], "load": 0.5}}}, "traffic.web.load"),
        ({"traffic": {"web": WEB["traffic"]["web"]}}, "traffic.long.kind"),
        ({"port": {"switch->r0": {"loss": 0.1}}}, "port.switch->r0.loss"),
        ({"seeds": 5}, "seeds"),
    ],
    ids=str,
)
def test_unequal_conditions_are_refused_and_named(tmp_path, file, changes, path):
    other = write_toml(tmp_path / "other.toml", WEB | changes)
    with pytest.raises(SpecError) as caught:
        read([file, other])
    assert path in {fault.path for fault in caught.value.faults}
    if path != "seeds":
        section = path.rsplit(".", 1)[0]
        assert len(read([file, other], allow=[section]).schemes) == 2


def test_queues_of_ports_and_transports_of_loads_are_free(tmp_path, file):
    changes = {"port": {"switch->r0": {"queue": "codel"}}, "probe": {"queue_trace": "1ms"}}
    other = write_toml(tmp_path / "other.toml", WEB | changes)
    assert len(read([file, other]).schemes) == 2
    assert len(read([file], vary=["traffic.long.transport.cc=cubic,dctcp"]).schemes) == 2


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, "compare"),
        ({"schemes": ["one="]}, "compare"),
        ({"vary": ["transport.cc=dctcp"]}, "--vary"),
        ({"vary": ["transport.cc"]}, "--vary"),
        ({"schemes": ["a", "b="]}, "--scheme"),
        ({"schemes": ["a=", "a="]}, "--scheme"),
        ({"schemes": ["a=", "b=queue"]}, "--scheme"),
        ({"schemes": ["a=", "b=queue.mark_att=1pkt"]}, "b: queue.mark_att"),
        ({"schemes": ["a=", "b="], "baseline": "c"}, "baseline"),
        ({"schemes": ["a=", "b="], "settings": ["seeds=1"]}, "a: seeds"),
        ({"schemes": ["a=", "b="], "settings": ["compare.scheme={}"]}, "compare.scheme"),
        ({"schemes": ["a=", "b="], "settings": ["sweep.grid.duration=['1ms']"]}, "web.toml: sweep"),
        ({"vary": [f"duration={','.join(['1ms'] * 40)}"]}, "compare"),
    ],
    ids=str,
)
def test_what_is_no_comparison_is_refused(file, options, path):
    with pytest.raises(SpecError) as caught:
        read([file], **options)
    assert any(fault.path.endswith(path) for fault in caught.value.faults), caught.value


def test_what_is_allowed_and_does_not_differ_is_told(tmp_path, file):
    what = read([file], schemes=["a=", "b=queue=codel"], allow=["traffic.web", "duration"], seeds=2)
    assert what.idle == ["traffic.web", "duration"]
    found = compare(what, Runner.of(store=tmp_path / "runs"))
    assert any("--allow duration has no effect" in warning for warning in found.warnings)


def test_unknown_metrics_are_refused_with_the_nearest(tmp_path, file):
    with pytest.raises(SpecError, match="matches no metric"):
        compare(
            read([file], schemes=["a=", "b="], metrics=["web.fct_mean"]), Runner.of(store=tmp_path / "runs")
        )


def test_run_and_sweep_send_a_file_of_schemes_to_compare(tmp_path):
    with pytest.raises(SpecError, match="shallows compare"):
        expand(WEB | {"compare": {"schemes": {}}})


def test_the_command_line_writes_one_page_and_its_json(tmp_path, file):
    done = command("compare", file, "--vary", "queue.kind=threshold,codel", "--json", cwd=tmp_path)
    assert done.returncode == 2
    assert "codel: queue.mark_at" in done.stderr
    schemes = ["--scheme", "step=", "--scheme", "codel=queue=codel"]
    done = command("compare", file, *schemes, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "python/shallows/cli/schemas/compare.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    assert found["baseline"] == "step" and found["seeds"] == [1, 2, 3, 4]
    page = (tmp_path / found["report"]).read_text()
    assert "codel against step" in page and "Holm" in page
    assert page.count("data:image/svg+xml") == 3
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    again = command("compare", file, *schemes, cwd=tmp_path)
    assert "p adjusted by Holm's method" in again.stdout
    assert "real" in again.stdout or "not-determined" in again.stdout


def test_equal_runs_are_no_evidence():
    """Five equal numbers against five others would be certain of a difference; they are one number each."""
    from shallows.studies.compare.comparison import paired_row
    from shallows.tables.seeds import SEEDS_CHANGE_NOTHING, alike

    assert alike([{"x": 1.0}] * 5) and not alike([{"x": 1.0}])
    assert not alike([{"x": 1.0}, {"x": 2.0}])
    row = paired_row("x", "new", [2.0] * 5, [1.0] * 5, still=True)
    assert (row.verdict, row.p, row.note) == ("not-determined", None, SEEDS_CHANGE_NOTHING)
    assert row.difference.value == 1.0 and row.difference.ci is None
    assert paired_row("x", "new", [2.0] * 5, [1.0] * 5).p == 0.0


def test_a_comparison_of_two_files_says_what_differs(tmp_path, file):
    """The page said "as written" twice; the two controls stood in a dump of all settings alone."""
    second = tmp_path / "second.toml"
    second.write_text(file.read_text().replace('"dctcp"', '"cubic"'))
    found = json.loads(command("compare", file, second, "--seeds", 2, "--json", cwd=tmp_path).stdout)
    kinds = {one["setting"]: one["values"] for one in found["differing"]}
    cc = [values for setting, values in kinds.items() if setting.endswith("transport.cc.kind")]
    assert cc == [["dctcp", "cubic"]], "the loads share the setting, so it is one line"
    page = (tmp_path / found["report"]).read_text().split("<h2>What differs</h2>")[1].split("</table>")[0]
    assert "cubic" in page and "dctcp" in page
    shown = command("compare", file, second, "--seeds", 2, cwd=tmp_path).stdout
    assert "What differs between the schemes" in shown and "transport.cc.kind" in shown
