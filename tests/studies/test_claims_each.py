"""Claims that differ in a few words or values, written once with `each`."""

import pytest
from shallows.errors import SpecError
from shallows.studies.paper.claims_file import read_claims

GOOD = """
[[claim]]
id = "first"
statement = "Braces {x} stay as written in a claim without each"
kind = "ours"
published = true

[[claim]]
id = "share-{n}"
statement = "{hosts} behind the port: equal parts"
kind = "ours"
tolerance = { relative = 0.1, because = "{n} of them" }
expected = { full = "holds" }
[claim.each]
n = [2, 10]
hosts = ["two hosts", "ten hosts"]
published = [0.50, 0.1]
expected.quick = ["not-determined", "holds"]
"tolerance.single_run" = [true, false]
"""


def read(tmp_path, text=GOOD):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    return read_claims(path)


def test_each_makes_a_claim_for_every_position(tmp_path):
    first, two, ten = read(tmp_path)
    assert first.statement == "Braces {x} stay as written in a claim without each"
    assert (two.id, ten.id) == (
        "share-2",
        "share-10",
    ) and ten.statement == "ten hosts behind the port: equal parts"
    assert (two.published, two.published_text, two.tolerance) == (0.5, "0.50", pytest.approx(0.05))
    assert two.tolerance_because == "2 of them" and (two.single_run, ten.single_run) == (True, False)
    assert two.expected == {"full": "holds", "quick": "not-determined"} and ten.expected["quick"] == "holds"


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        (("n = [2, 10]", "n = [2]"), "claim[1].each.n", "as many entries as the longest list, 2, got [2]"),
        (("n = [2, 10]", "n = []"), "claim[1].each.n", "is empty"),
        (("n = [2, 10]", "n = 2"), "claim[1].each.n", "must be a list, got 2"),
        (("n = [2, 10]", "n = [2, 1.5]"), "claim[1].each.n", "which stand in texts, got 1.5"),
        (("n = [2, 10]", "n = [2, 10]\nmany = [1, 2]"), "claim[1].each.many", "nor {many} in one of"),
        (("published = [", "publishd = ["), "claim[1].each.publishd", 'did you mean "published"'),
        (("{hosts} behind", "{host} behind {hosts}"), "claim[1].each", '{host} (did you mean "hosts"'),
        (('expected = {', 'published = 3\nexpected = {'), "claim[1].each.published", "in the claim too"),
        (('{ full = "holds" }', '"holds"'), "claim[1].each.expected.quick", "in the claim too"),
        (("share-{n}", "share"), "claim[1].id", 'must be written once, got "share"'),
        (("share-{n}", "first{n}"), "", ""),
        (("0.50, 0.1]", '"half", 0.1]'), "claim[1].published", "must be a number"),
        (('ned", "holds"]', 'ned", "hold"]'), "claim[1].expected.quick", "one of holds"),
    ],
)  # fmt: skip
def test_faults_are_named_with_their_path(tmp_path, change, path, says):
    assert change[0] in GOOD
    text = GOOD.replace(*change, 1)
    if not path:
        assert len(read(tmp_path, text)) == 3
        return
    with pytest.raises(SpecError) as refused:
        read(tmp_path, text)
    assert [fault.path for fault in refused.value.faults] == [path]
    assert says in str(refused.value)


@pytest.mark.parametrize(("each", "says"), [("3", "must be a table of lists, got 3"), ("{}", "is empty")])
def test_each_is_a_table_with_lists(tmp_path, each, says):
    text = GOOD.partition("[claim.each]")[0].replace("{hosts}", "They").replace("{n}", "x")
    with pytest.raises(SpecError, match=says):
        read(tmp_path, text + f"each = {each}\npublished = 3\n")


def test_an_id_that_two_claims_share_is_refused_across_the_file(tmp_path):
    with pytest.raises(SpecError, match=r'claim\[1\]\.id: must be written once, got "share-2"'):
        read(tmp_path, GOOD.replace('id = "first"', 'id = "share-2"'))
