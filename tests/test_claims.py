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
    Claim,
    Measured,
    as_measured,
    is_above,
    is_below,
    read_claims,
    record,
    unexpected,
    verdict,
)

GOOD = """
[[claim]]
id = "delay"
statement = "Mean wait under DCTCP"
published = 73.8
unit = "us"
tolerance = { relative = 0.02, because = "one run, four digits" }
deterministic = true
expected = { full = "holds", quick = "not-determined" }
reason = "quick runs are shorter"

[[claim]]
id = "gain"
statement = "xDCTCP waits less"
published = true
"""


def written(tmp_path, text):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    return path


def claim(published=100.0, tolerance=2.0, relation="equals", deterministic=False, **more):
    base = {"id": "x", "statement": "s", "unit": "us", "tolerance_because": "", "expected": {}, "reason": ""}
    return Claim(**base | {"published": published, "tolerance": tolerance, "relation": relation,
                           "deterministic": deterministic, "note": ""} | more)  # fmt: skip


def test_reading(tmp_path):
    delay, gain = read_claims(written(tmp_path, GOOD))
    assert delay.tolerance == pytest.approx(1.476) and delay.relation == "equals"
    assert gain.published is True and gain.tolerance is None


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        (("unit =", "unt ="), "claim[0].unt", 'did you mean "unit"'),
        (("[[claim]]\nid = \"gain\"", "[[clam]]\nid = \"gain\""), "clam", 'did you mean "claim"'),
        (("relative = 0.02", "relative = -1"), "claim[0].tolerance", "finite number >= 0"),
        (("relative = 0.02", "relative = 0.02, absolute = 1"), "claim[0].tolerance", "one of absolute"),
        (("relative =", "relativ ="), "claim[0].tolerance.relativ", 'did you mean "relative"'),
        ((', because = "one run, four digits"', ""), "claim[0].tolerance.because", "must say where"),
        (('"holds", quick', '"hold", quick'), "claim[0].expected.full", "one of holds"),
        (("quick =", "quik ="), "claim[0].expected.quik", 'did you mean "quick"'),
        (("73.8", '"73.8"'), "claim[0].published", "must be"),
        (("73.8", "nan"), "claim[0].published", "finite"),
        (('id = "delay"\n', ""), "claim[0].id", "must be written"),
        (('"gain"', '"delay"'), "claim[1].id", "written once"),
        (('unit = "us"', 'unit = "us"\nrelation = "near"'), "claim[0].relation", "one of equals"),
        (("published = true", "published = 3"), "claim[1].tolerance", "must be written for"),
        (("[[claim]]", "[[claim"), "claims.toml", "is not TOML"),
    ],
)  # fmt: skip
def test_faults_are_named_with_their_path(tmp_path, change, path, says):
    with pytest.raises(SpecError) as caught:
        read_claims(written(tmp_path, GOOD.replace(*change, 1)))
    assert [f.path for f in caught.value.faults] == [path] and says in str(caught.value)


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
    assert verdict(claim(), Measured(100.0, n_seeds=1)) == ("not-determined", "1 seed(s) give no interval")
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
    assert as_measured(3, 7) == Measured(3, n_seeds=7)
    assert as_measured([1.0, 2.0, 3.0], 9)[:4] == (2.0, *mean_ci([1, 2, 3]).ci, 3)
    assert as_measured(math.nan, 2).value is None
    assert (
        as_measured(Measured(1.0), 2).n_seeds == 2 and as_measured(Measured(1.0, n_seeds=0), 2).n_seeds == 0
    )


def test_record_has_exactly_the_contract_keys(tmp_path):
    delay, _ = read_claims(written(tmp_path, GOOD))
    got = record(delay, Measured(74.0, n_seeds=1), paper="p", figure="f", mode="full", backend="simulator")
    keys = "id paper figure statement published measured unit ci95 n_seeds tolerance verdict"
    assert list(got) == [*keys.split(), "expected_verdict", "backend", "note"]
    assert got["id"] == "p/f/delay" and got["verdict"] == "holds" and got["ci95"] is None
    json.dumps(got, allow_nan=False)
    assert unexpected([got]) == [] and unexpected([got | {"expected_verdict": None}]) != []
    assert unexpected([got | {"expected_verdict": "differs"}]) != []


NUMBER, SIZE, RELATION = st.floats(-1e6, 1e6), st.floats(0, 1e6), st.sampled_from(RELATIONS)


@given(NUMBER, SIZE, NUMBER, SIZE, RELATION)
def test_a_narrower_interval_never_overturns_a_verdict(published, tolerance, value, half, relation):
    one = claim(published, tolerance, relation)
    wide = verdict(one, Measured(value, value - half, value + half, 20))[0]
    narrow = verdict(one, Measured(value, value - half / 2, value + half / 2, 20))[0]
    assert wide in VERDICTS and (wide == narrow or wide == "not-determined")
