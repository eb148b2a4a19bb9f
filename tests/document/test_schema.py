"""The JSON Schema of experiment files: each experiment that comes along passes, and a slip does not."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from conftest import ROOT, SMALL

FILE = ROOT / "experiments/experiment.schema.json"
SCHEMA = json.loads(FILE.read_text())
CHECK = jsonschema.Draft202012Validator(SCHEMA)
OTHERS = ("claims.toml", "paper.toml", "quick.toml", "readings.toml", "variants.toml")
EXPERIMENTS = sorted(p for p in (ROOT / "experiments").rglob("*.toml") if p.name not in OTHERS)


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: str(p.relative_to(ROOT / "experiments")))
def test_every_experiment_names_it_and_passes(path: Path):
    text = path.read_text(encoding="utf-8")
    first, _, name = text.splitlines()[0].partition(" ")
    assert first == "#:schema"
    assert (path.parent / name).resolve() == FILE
    assert [error.message for error in CHECK.iter_errors(tomllib.loads(text))] == []


def test_a_resolved_experiment_passes_but_for_its_seed():
    from shallows.document.points import expand

    (point,) = expand(SMALL)
    assert [error.message for error in CHECK.iter_errors(point.experiment)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"durration": "1ms"},
        {"duration": 3},
        {"queue": {"kind": "threshold", "mark_att": "20pkt"}},
        {"queue": "treshold"},
        {"ecmp": "flows"},
        {"probe": {"queue_tracer": "on"}},
        {"sweep": {"gird": {}}},
        {"tune": {"trials": "many"}},
    ],
    ids=str,
)
def test_a_slip_is_found(wrong):
    assert not CHECK.is_valid(SMALL | wrong)
    assert CHECK.is_valid(SMALL)
