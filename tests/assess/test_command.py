"""`./shallows assess` as a command: JSON by its schema, the page, and expectations with JUnit's XML."""

import base64
import gzip
import html
import json
import re
from xml.etree import ElementTree

import jsonschema
import pytest
from conftest import ROOT, shallows
from shallows.assess import expect
from shallows.assess.criteria import card
from shallows.document.load import load
from shallows.document.points import expand
from shallows.errors import SpecError

QUICK = ("assess", "newreno", "--quick", "--row", "C16", "--row", "C22")


def test_it_answers_by_its_schema_and_writes_the_page(tmp_path):
    done = shallows(*QUICK, "--json", "-o", "card.html", cwd=tmp_path)
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "python/shallows/cli/schemas/assess.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    assert [row["verdict"] for row in found["rows"]] == ["shown", "not run"]
    assert found["rows"][0]["repeat"].endswith("assess newreno --quick --row C16")
    assert "RFC 9743 sets no thresholds" in found["note"]
    page = html.unescape((tmp_path / "card.html").read_text())
    assert page.count("<figure>") == 1
    assert found["rows"][0]["reading"] in page
    assert "RFC 9743 sets no thresholds" in page
    links = dict(re.findall(r'<a download="([^"]+)" href="data:[^,]+,([^"]+)"', page))
    assert list(links) == ["C16.toml", "C16.flows.csv.gz", "C16.queues.csv.gz"]
    (tmp_path / "C16.toml").write_bytes(base64.b64decode(links["C16.toml"]))
    [point] = expand(load(tmp_path / "C16.toml"))
    assert point.experiment["traffic"]["candidate"]["transport"]["cc"]["kind"] == "newreno"
    assert b"arrived_bytes" in gzip.decompress(base64.b64decode(links["C16.flows.csv.gz"])).splitlines()[0]


def test_expectations_decide_the_status_and_reach_junit(tmp_path):
    (tmp_path / "right.toml").write_text('C16 = "shown"\nC22 = "not run"\n')
    (tmp_path / "wrong.toml").write_text('C16 = ["not shown", "not determined"]\n')
    done = shallows(*QUICK, "--expect", "right.toml", "--junit", "right.xml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = shallows(*QUICK, "--expect", "wrong.toml", "--junit", "wrong.xml", cwd=tmp_path)
    assert done.returncode == 1
    right, wrong = (ElementTree.parse(tmp_path / f"{name}.xml").getroot() for name in ("right", "wrong"))
    assert len(right.findall(".//testcase")) == 2
    assert right.findall(".//failure") == []
    [failure] = wrong.findall(".//failure")
    assert "shown" in failure.get("message")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('C99 = "shown"', "C99"),
        ('C3 = "shown"', "must be a row that runs"),
        ('C16 = "good"', "must be one or several of"),
        ("C16 = []", "must be one or several of"),
        ("", "must have a line"),
        ("C16", "cannot be read"),
    ],
)
def test_a_bad_expectation_runs_nothing(text, told, tmp_path):
    file = tmp_path / "expect.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=told):
        expect.read(file, card("rfc9743"), ["C16", "C22"])


def test_a_discipline_has_a_card_of_its_own(tmp_path):
    said = shallows(
        "assess", "--queue", "codel", "--quick", "--row", "Q5", "--row", "Q14", "--json", cwd=tmp_path
    )
    found = json.loads(said.stdout)
    assert [row["id"] for row in found["rows"]] == ["Q5", "Q14"]
    assert found["rows"][1]["repeat"].endswith("assess --queue codel --quick --row Q14")
    assert list(found["rows"][1]["cells"][0]["yardsticks"]) == ["drop-tail"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "needs one of CONTROL, --queue NAME"),
        (("cubic", "--queue", "codel"), "needs one of CONTROL, --queue NAME"),
        (("--queue", "codel", "--card", "l4s"), "--queue has a card of its own"),
        (("cubic", "--card", "wireless"), "must be one of rfc9743, l4s, datacentre"),
        (("cubic", "--card", "l4s", "--row", "C2"), "must be one of L1 to L9"),
        (("--queue", "codle", "--row", "Q14"), "codel"),
    ],
)
def test_a_card_that_there_is_not_runs_nothing(words, told, tmp_path):
    done = shallows("assess", "--quick", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
