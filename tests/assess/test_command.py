"""`./shallows assess` as a command: JSON by its schema, the page, and expectations with JUnit's XML."""

import html
import json
from xml.etree import ElementTree

import jsonschema
import pytest
from conftest import ROOT, shallows
from shallows.assess import expect, show
from shallows.errors import SpecError

QUICK = ("assess", "newreno", "--quick", "--row", "C18", "--row", "C22")


def test_it_answers_by_its_schema_and_writes_the_page(tmp_path):
    done = shallows(*QUICK, "--json", "-o", "card.html", cwd=tmp_path)
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "python/shallows/cli/schemas/assess.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    assert [row["verdict"] for row in found["rows"]] == ["shown", "not run"]
    assert found["rows"][0]["repeat"].endswith("assess newreno --quick --row C18")
    assert found["note"] == show.NOTE
    page = html.unescape((tmp_path / "card.html").read_text())
    assert page.count("<figure>") == 1
    assert found["rows"][0]["reading"] in page
    assert "RFC 9743 sets no thresholds" in page


def test_expectations_decide_the_status_and_reach_junit(tmp_path):
    (tmp_path / "right.toml").write_text('C18 = "shown"\nC22 = "not run"\n')
    (tmp_path / "wrong.toml").write_text('C18 = ["not shown", "not determined"]\n')
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
        ('C18 = "good"', "must be one or several of"),
        ("C18 = []", "must be one or several of"),
        ("", "must have a line"),
        ("C18", "cannot be read"),
    ],
)
def test_a_bad_expectation_runs_nothing(text, told, tmp_path):
    file = tmp_path / "expect.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=told):
        expect.read(file, ["C18", "C22"])
