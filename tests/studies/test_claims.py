"""Claims: strict reading, and verdicts that follow from numbers alone."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shallows.errors import SpecError
from shallows.statistics.estimates import Estimate, mean_ci
from shallows.studies.paper.claims import (
    RELATIONS,
    VERDICTS,
    Cause,
    Claim,
    Measured,
    as_measured,
    every,
    is_above,
    is_below,
    is_within,
    noted,
    settled,
    some,
)
from shallows.studies.paper.claims_file import read_claims
from shallows.studies.paper.joint import together
from shallows.studies.paper.readings import Dimension, Reading, Value
from shallows.studies.paper.verdicts import (
    SEEDS_CHANGE_NOTHING,
    Found,
    conclude,
    headline,
    in_quick,
    record,
    unexpected,
    verdict,
    with_causes,
)

GOOD = """
[[claim]]
id = "delay"
statement = "Mean wait under DCTCP"
kind = "published"
sentence = "DCTCP waits so long."
where = "table 1"
published = 73.8
unit = "us"
tolerance = { relative = 0.02, because = "one run, four digits" }
deterministic = true
expected = { full = "holds", quick = "not-determined" }
cause = { kind = "open", claim = "fig/other", words = "the window is not said" }

[[claim]]
id = "gain"
statement = "xDCTCP waits less"
kind = "implied"
published = true
"""


def written(tmp_path, text):
    path = tmp_path / "g" / "claims.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def claim(published=100.0, tolerance=2.0, relation="equals", deterministic=False, **more):
    base = {"id": "x", "statement": "s", "kind": "published", "published_text": "", "unit": "us",
            "tolerance_because": "", "single_run": False, "expected": {}, "holds_if": "", "cause": None,
            "about": ("*",), "note": ""}  # fmt: skip
    return Claim(**base | {"published": published, "tolerance": tolerance, "relation": relation,
                           "deterministic": deterministic} | more)  # fmt: skip


def test_reading(tmp_path):
    delay, gain = read_claims(written(tmp_path, GOOD))
    assert delay.tolerance == pytest.approx(1.476) and delay.relation == "equals"
    assert gain.published is True and gain.tolerance is None
    assert (delay.kind, gain.kind) == ("published", "implied") and delay.published_text == "73.8"
    assert delay.cause.claim == "fig/other" and delay.about == ("*",)


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        (("unit =", "unt ="), "claim[0].unt", 'did you mean "unit"'),
        (("[[claim]]\nid = \"gain\"", "[[clam]]\nid = \"gain\""), "clam", 'did you mean "claim"'),
        (("relative = 0.02", "relative = -1"), "claim[0].tolerance.relative", "must be >= 0, got -1"),
        (("relative = 0.02", "relative = 0.02, absolute = 1"), "claim[0].tolerance", "one of absolute"),
        (("relative =", "relativ ="), "claim[0].tolerance.relativ", 'did you mean "relative"'),
        ((', because = "one run, four digits"', ""), "claim[0].tolerance.because", "is required: the origin"),
        (('"holds", quick', '"hold", quick'), "claim[0].expected.full", "one of holds"),
        (("quick =", "quik ="), "claim[0].expected.quik", 'did you mean "quick"'),
        (("73.8", '"73.8"'), "claim[0].published", "must be"),
        (("73.8", "nan"), "claim[0].published", "finite"),
        (('id = "delay"\n', ""), "claim[0].id", "is required"),
        (('"gain"', '"delay"'), "claim[1].id", "written once"),
        (('unit = "us"', 'unit = "us"\nrelation = "near"'), "claim[0].relation", "one of equals"),
        (("published = true", "published = 3"), "claim[1].tolerance", "required for a published number"),
        (("[[claim]]", "[[claim"), "claims.toml", "is not TOML"),
        (('kind = "published"\n', ""), "claim[0].kind", "is required"),
        (('sentence = "DCTCP waits so long."\n', ""), "claim[0].sentence", "the document's own"),
        (('where = "table 1"\n', 'where = " "\n'), "claim[0].where", "the place of the words"),
        (('"published"', '"said"'), "claim[0].kind", "one of published, implied, ours"),
        (('kind = "open"', 'kind = "luck"'), "claim[0].cause.kind", "one of document"),
        ((', words = "the window is not said"', ""), "claim[0].cause.words", "the cause in words"),
        (('kind = "open", claim = "fig/other"', 'kind = "ours"'), "claim[0].cause.claim", "whose run shows"),
        (('kind = "open"', 'kind = "not-found"'), "claim[0].cause.kind", 'write kind = "looked-for"'),
        (('kind = "open", claim = "fig/other", words = "the window is not said"', 'kind = "looked-for"'),
         "claim[0].cause.tried", "what was tried"),
        (('kind = "open"', 'kind = "looked-for", tried = ["g"]'), "claim[0].cause.claim", "does not go with"),
        (('words = "the', 'tried = ["g"], words = "the'), "claim[0].cause.tried", "goes with looked-for"),
        ((' "implied"', ' "implied"\njoint = ["g/delay", "g/dealy"]'), "claim[1].joint[1]", "did you mean"),
        ((' "implied"', ' "implied"\njoint = ["g/delay", "g/gain"]'), "claim[1].joint[1]", "no joint claim"),
        (('published = true', 'joint = ["g/delay", "g/delay"]'), "claim[1].published", "must be true"),
        ((' "implied"', ' "implied"\njoint = ["g/delay"]'), "claim[1].joint", "at least 2"),
    ],
)  # fmt: skip
def test_faults_are_named_with_their_path(tmp_path, change, path, says):
    with pytest.raises(SpecError) as caught:
        read_claims(written(tmp_path, GOOD.replace(*change, 1)))
    assert [f.path.rpartition("/")[2] for f in caught.value.faults] == [path] and says in str(caught.value)


def test_a_recorded_difference_needs_a_cause(tmp_path):
    without = "".join(line for line in GOOD.splitlines(True) if not line.startswith("cause"))
    read_claims(written(tmp_path, without))
    with pytest.raises(SpecError, match=r'is required where a recorded verdict is "differs"') as caught:
        read_claims(written(tmp_path, without.replace('"holds", quick', '"differs", quick')))
    assert [fault.path for fault in caught.value.faults] == ["claim[0].cause"]


def test_all_faults_of_a_file_come_at_once(tmp_path):
    text = GOOD.replace('"published"', '"said"', 1).replace("relative = 0.02", "relative = -1")
    text = text.replace("published = true", "published = 3").replace('"gain"', '"delay"')
    with pytest.raises(SpecError) as caught:
        read_claims(written(tmp_path, text))
    assert [(f.path, f.code) for f in caught.value.faults] == [
        ("claim[0].kind", "unknown-word"),
        ("claim[0].tolerance.relative", "out-of-range"),
        ("claim[1].tolerance", "missing"),
        ("claim[1].id", "written-twice"),
    ]


@pytest.mark.parametrize(
    ("low", "high", "equals", "at_least", "at_most"),
    [
        (99, 101, "holds", "holds", "holds"),
        (98, 102, "holds", "holds", "holds"),
        (97, 99, "not-determined", "not-determined", "holds"),
        (101, 103, "not-determined", "holds", "not-determined"),
        (90, 110, "not-determined", "not-determined", "not-determined"),
        (90, 95, "differs", "differs", "holds"),
        (105, 110, "differs", "holds", "differs"),
    ],
)
def test_intervals(low, high, equals, at_least, at_most):
    found = Measured((low + high) / 2, low, high, 20)
    for relation, want in (("equals", equals), ("at-least", at_least), ("at-most", at_most)):
        assert verdict(claim(relation=relation), found)[0] == want


def test_a_point_needs_a_deterministic_claim_or_a_closed_form():
    assert verdict(claim(), Measured(100.0, n_seeds=1)) == ("not-determined", "no interval (seeds: 1)")
    assert verdict(claim(deterministic=True), Measured(101.0, n_seeds=1))[0] == "holds"
    assert verdict(claim(deterministic=True), Measured(103.0, n_seeds=1)) == ("differs", "by +3 us (+3 %)")
    assert verdict(claim(), Measured(101.0, n_seeds=0))[0] == "holds"


def test_booleans():
    yes = claim(published=True, tolerance=None)
    assert verdict(yes, Measured(True, n_seeds=3))[0] == "holds"
    assert verdict(yes, Measured(False, n_seeds=3))[0] == "differs"
    assert verdict(yes, Measured(None, n_seeds=3, note="0.1 [-1, 1]")) == ("not-determined", "0.1 [-1, 1]")
    with pytest.raises(TypeError, match="both be true or false"):
        verdict(yes, Measured(1.0, n_seeds=3))
    with pytest.raises(TypeError, match="both be true or false"):
        verdict(claim(), Measured(True, n_seeds=3))


def test_nothing_published_is_not_determined():
    assert verdict(claim(published=None, tolerance=None), Measured(3.0, n_seeds=0))[0] == "not-determined"


def test_sides_of_a_bound():
    assert is_below(Estimate(-4.8, -5.1, -4.5, 20)).value is True
    assert is_above(Estimate(-4.8, -5.1, -4.5, 20)).value is False
    assert (
        is_above(Estimate(0.1, -1, 1, 20)).value is None and is_below(Estimate(0.1, -1, 1, 20)).value is None
    )
    assert is_above(Estimate(5, None, None, 1)).value is None
    assert is_above(Estimate(0, 0, 0, 5)).value is False and is_below(Estimate(0, 0, 0, 5)).value is False
    assert is_below(Estimate(-4.8, -5.1, -4.5, 20), unit="us").note == "-4.8 [-5.1, -4.5] us"


def test_what_measure_may_return():
    assert noted(mean_ci([1.0, 3.0]), "why") == as_measured([1.0, 3.0], 2)._replace(note="why")
    assert as_measured(3, 7) == Measured(3, n_seeds=7)
    assert as_measured([1.0, 2.0, 3.0], 9)[:4] == (2.0, *mean_ci([1, 2, 3]).ci, 3)
    assert as_measured(math.nan, 2).value is None
    assert (
        as_measured(Measured(1.0), 2).n_seeds == 2 and as_measured(Measured(1.0, n_seeds=0), 2).n_seeds == 0
    )


def one_value(name, rank="text", cause="open"):
    return Value(name, f"{name} packets", rank, "somewhere", cause, {}, name)


WINDOW = Dimension("window", "how large?", ("sack",), (one_value("2"), one_value("10", "today", "ours")))
RTT = Dimension("rtt", "how long?", ("*",), (one_value("300"), one_value("600")))
BASE, TEN = Reading(), Reading(((WINDOW, WINDOW.value("10")),))
LONG, BOTH = (
    Reading(((RTT, RTT.value("600")),)),
    Reading(((RTT, RTT.value("600")), (WINDOW, WINDOW.value("10")))),
)


def under(reading, outcome):
    return Found(reading, Measured(1.0, 0.5, 1.5, 5), outcome, "")


@pytest.mark.parametrize(
    ("base", "others", "outcome"),
    [
        ("holds", ["differs"], "holds"),
        ("differs", ["differs"], "differs"),
        ("differs", ["holds"], "holds-if"),
        ("not-determined", ["holds"], "holds-if"),
        ("differs", ["not-determined"], "not-determined"),
        ("not-determined", ["differs"], "not-determined"),
        ("differs", [], "differs"),
    ],
)
def test_verdict_over_readings_has_three_values(base, others, outcome):
    got = conclude(claim(), under(BASE, base), [under(TEN, each) for each in others])
    assert got.verdict == outcome


def test_holds_if_names_the_least_implausible_reading_and_counts_them_all():
    tried = sorted((BOTH, TEN, LONG), key=lambda reading: reading.implausibility)
    assert [r.id for r in tried] == ["rtt=600", "window=10", "rtt=600, window=10"]
    got = conclude(
        claim(), under(BASE, "differs"), [under(tried[0], "differs"), *(under(r, "holds") for r in tried[1:])]
    )
    assert got.under == [under(TEN, "holds")] and "if 10 packets" in got.because
    assert "holds under 2 of 4 readings tried" in got.because
    one = record(claim(), got, paper="p", figure="f", mode="full", backend="simulator")
    assert one["cause"] == {"kind": "ours", "run": "window=10", "words": "10 packets", "shown": True}
    assert [r["verdict"] for r in one["readings"]] == ["differs", "differs", "holds", "holds"]


def test_a_reading_concerns_a_claim_only_if_each_departure_does():
    assert LONG.concerns(("racs",)) and not TEN.concerns(("racs",)) and not BOTH.concerns(("racs",))
    assert BOTH.concerns(("sa*",)) and BOTH.concerns(("*",))


def test_a_cause_needs_a_claim_that_holds_here():
    why = claim(cause=Cause("document", "f/shown", "two numbers contradict each other"))
    found = conclude(why, under(BASE, "differs"), [])
    one = record(why, found, paper="p", figure="f", mode="full", backend="simulator")
    other = one | {"id": "p/f/shown", "verdict": "holds", "cause": None}
    assert with_causes([one, other])[0]["cause"]["shown"] is True
    assert with_causes([one, other | {"verdict": "differs"}])[0]["cause"]["shown"] is False
    assert with_causes([one])[0]["cause"] == {
        "kind": "document", "run": "f/shown", "words": "two numbers contradict each other", "shown": False
    }  # fmt: skip


def test_causes_without_a_claim_are_open_or_say_what_was_tried():
    open_, tried = Cause("open", words="the text gives no g"), Cause("looked-for", tried=("g", "K"))
    for cause, words in ((open_, "the text gives no g"), (tried, "g; K")):
        found = conclude(claim(cause=cause), under(BASE, "differs"), [])
        one = record(claim(cause=cause), found, paper="p", figure="f", mode="full", backend="simulator")
        assert with_causes([one])[0]["cause"] == {
            "kind": cause.kind, "run": "", "words": words, "shown": False
        }  # fmt: skip


def test_joint_claims_are_judged_under_one_reading_for_all():
    one, two = claim(id="one", about=("sack",)), claim(id="two", about=("racs",))
    both = claim(id="both", published=True, tolerance=None, joint=("f/one", "f/two"))
    claims, tried = {each.id: each for each in (one, two, both)}, [LONG, TEN, BOTH]
    outcomes = {
        "one": [(BASE, "differs"), (LONG, "differs"), (TEN, "holds"), (BOTH, "differs")],
        "two": [(BASE, "differs"), (LONG, "holds")],
    }
    judged = {n: [under(*one) for one in found] for n, found in outcomes.items()}
    found = together(both, claims, judged, tried)
    assert [(f.reading, f.verdict) for f in found] == [(r, "differs") for r in (BASE, *tried)]
    got = conclude(both, found[0], found[1:])
    assert got.verdict == "differs" and got.because.startswith("no reading of 4 has them all")
    judged["one"][3] = under(BOTH, "holds")  # two has it with the longer round trip alone
    found = together(both, claims, judged, tried)
    assert found[3].verdict == "holds" and found[3].measured.note == "one: holds, two: holds"
    assert conclude(both, found[0], found[1:]).under[0].reading is BOTH
    assert [f.reading for f in together(both, claims, judged, [LONG])] == [BASE, LONG]
    del judged["one"][3]
    assert together(both, claims, judged, tried)[3].verdict == "not-determined"


def test_a_trend_has_no_interval():
    first, second = [1.0, 1.02, 0.99], [3.0, 3.03, 2.98]
    means = [2.0, 2.025, 1.985]
    got = settled(means, first, second, "ms")
    assert (got.value, got.low, got.n_seeds) == (pytest.approx(2.003, abs=1e-3), None, 3)
    assert "1.00 [0.97, 1.04] ms in its first half" in got.note
    assert verdict(claim(2.0, 1.0), got) == ("not-determined", got.note)
    assert settled(means, second, second)[:4] == as_measured(means, 3)[:4], "no change"
    rest = settled([2.0, 2.4, 1.6], [2.1, 2.2, 1.7], [1.9, 2.6, 1.5])
    assert rest.low is not None and rest.note == "", "a change that chance explains"


def test_quick_leaves_open_what_its_part_cannot_decide():
    one = claim()
    differs, held = (conclude(one, under(BASE, each), []) for each in ("differs", "holds"))
    assert in_quick(one, differs, []).verdict == "differs" and in_quick(one, held, [LONG]) is held
    got = in_quick(one, differs, [LONG])
    assert got.verdict == "not-determined" and "1 readings that take longer (600 packets)" in got.because
    front = claim(full_only="a front needs all g")
    for each in (differs, held):
        assert in_quick(front, each, []).verdict == "not-determined"
        assert in_quick(front, each, []).because.startswith("the full form decides: a front needs all g")


def test_seeds_that_change_nothing_decide_nothing():
    same = as_measured([3.0, 3.0, 3.0], 3)
    assert same.flat and verdict(claim(3.0, 1.0), same) == ("not-determined", SEEDS_CHANGE_NOTHING)
    assert verdict(claim(3.0, 1.0, deterministic=True), same)[0] == "holds"
    assert is_above(mean_ci([1.0, 1.0])).flat and not is_above(mean_ci([1.0, 1.1])).flat


def test_equivalence_needs_the_whole_interval_inside_the_margin():
    assert is_within(Estimate(0.1, -0.4, 0.6, 9), 1.0).value is True
    assert is_within(Estimate(0.1, -0.4, 1.2, 9), 1.0).value is None
    assert is_within(Estimate(3.0, 2.0, 4.0, 9), 1.0).value is False
    assert is_within(Estimate(3.0, None, None, 1), 9.0).value is None


def test_an_undecided_part_is_neither_true_nor_false():
    yes, no, unknown = (Measured(value, n_seeds=3) for value in (True, False, None))
    assert every([yes, unknown]).value is None and every([no, unknown]).value is False
    assert some([no, unknown]).value is None and some([yes, unknown]).value is True
    assert every([yes, yes]).value is True and some([no, no]).value is False and every([]).value is None


def test_a_single_run_of_the_authors_may_scatter_as_ours_do():
    """With a standard deviation of 1 over 9 seeds one more run lies within t(8) = 2.306 of the mean."""
    samples = [99.0, 101.0] * 4 + [100.0]
    found = as_measured(mean_ci(samples), 9)
    assert verdict(claim(101.5, 0.05), found)[0] == "differs"
    assert verdict(claim(101.5, 0.05, single_run=True), found)[0] == "holds"
    assert verdict(claim(109.0, 0.05, single_run=True), found)[0] == "differs"


def test_record_has_exactly_the_contract_keys(tmp_path):
    delay, _ = read_claims(written(tmp_path, GOOD))
    base = Found(BASE, Measured(74.0, n_seeds=1), *verdict(delay, Measured(74.0, n_seeds=1)))
    got = record(delay, conclude(delay, base, []), paper="p", figure="f", mode="full", backend="simulator")
    keys = "id paper figure kind statement published measured unit ci95 range n_seeds n_of tolerance verdict"
    assert list(got) == [
        *keys.split(),
        "expected_verdict",
        "readings",
        "cause",
        "because",
        "backend",
        "kernel",
        "note",
        "sentence",
        "where",
        "joint",
    ]
    assert got["id"] == "p/f/delay" and got["verdict"] == "holds" and got["ci95"] is None
    assert got["readings"][0]["reading"] == "base" and got["cause"] is None
    json.dumps(got, allow_nan=False)
    assert unexpected([got]) == [] and unexpected([got | {"expected_verdict": None}]) != []
    assert unexpected([got | {"expected_verdict": "differs"}]) != []
    assert headline([got], "published").startswith(
        "1 of 1 published claims hold, 0 hold under another reading"
    )


NUMBER, SIZE, RELATION = st.floats(-1e6, 1e6), st.floats(0, 1e6), st.sampled_from(RELATIONS)


@given(NUMBER, SIZE, NUMBER, SIZE, RELATION)
def test_a_narrower_interval_never_overturns_a_verdict(published, tolerance, value, half, relation):
    one = claim(published, tolerance, relation)
    wide = verdict(one, Measured(value, value - half, value + half, 20))[0]
    narrow = verdict(one, Measured(value, value - half / 2, value + half / 2, 20))[0]
    assert wide in VERDICTS and (wide == narrow or wide == "not-determined")
