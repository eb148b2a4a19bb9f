"""Files made from the declared parameters: fresh, and of use."""

import generate
import pytest
from conftest import ROOT, SMALL
from pydantic import ValidationError
from shallows.document.check import check


@pytest.mark.parametrize("path", list(generate.files()), ids=str)
def test_generated_files_are_fresh(path):
    place = ROOT / path
    assert place.exists(), "run: make generate"
    assert place.read_text(encoding="utf-8") == generate.files()[path], "stale; run: make generate"


def test_no_page_of_a_section_that_is_gone():
    made = {path.name for path in generate.files() if path.match("docs/reference/*.md")}
    wanted = made - {"tables.md", "errors.md"}
    pages = (ROOT / "docs/reference").glob("*.md")
    assert {path.name for path in pages if generate.NOTE in path.read_text()} == wanted


def classes():
    from shallows import experiment

    return experiment


def test_an_experiment_of_objects_is_the_experiment_of_the_file():
    c = classes()
    made = c.Experiment(
        title="small",
        duration="2ms",
        topology=c.StarTopology(senders=2, rate="1Gbps", delay="10us"),
        queue=c.ThresholdQueue(limit="100pkt", mark_at="20pkt"),
        transport=c.Transport(cc="dctcp"),
        traffic={"long": c.BulkLoad(from_="s*", to="r0")},
    )
    assert check(made.to_document() | {"seed": 1}) == check(SMALL | {"seed": 1})
    assert made.check() is made
    assert made.faults() == []


def test_settings_by_path_and_faults_from_the_checker():
    made = classes().Experiment.model_validate(SMALL)
    spoilt = made.with_settings({"queue.mark_at": "500pkt"})
    assert [fault.path for fault in spoilt.faults()] == ["queue.mark_at"]
    assert made.to_document()["queue"]["mark_at"] == "20pkt"


def test_misspelt_names_and_wrong_types_are_refused_at_once():
    with pytest.raises(ValidationError, match="mark_att"):
        classes().ThresholdQueue(mark_att="20pkt")
    with pytest.raises(ValidationError):
        classes().ThresholdQueue(mark_at=20)


def test_every_setting_is_documented():
    for section in generate.schema()["sections"]:
        for component in section["components"]:
            assert component["doc"].strip(), (section["path"], component["name"])
            for param in component["params"]:
                assert param["doc"].strip(), (section["path"], param["name"])
                assert param["source"].strip(), (section["path"], param["name"])
