"""The front door: one version everywhere, and a hosted CI that covers what the project promises."""

import re
import tomllib

import yaml
from conftest import ROOT


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


CARGO = tomllib.loads(text("Cargo.toml"))["workspace"]["package"]
VERSION = CARGO["version"]


def test_one_version_stands_everywhere():
    locked = tomllib.loads(text("Cargo.lock"))["package"]
    assert {p["version"] for p in locked if p["name"].startswith("shallows-")} == {VERSION}
    assert re.search(r"^version: (\S+)$", text("CITATION.cff"), re.MULTILINE)[1] == VERSION
    assert re.search(r"^## (\d\S*)$", text("CHANGELOG.md"), re.MULTILINE)[1] == VERSION
    assert f"Version {VERSION} (" in text("README.md")
    assert f"Shallows {'.'.join(VERSION.split('.')[:2])} is" in text("docs/stability.md")


def test_the_changelog_has_three_kinds_of_changes_in_short_entries():
    """A diary of measurements belongs into docs/history."""
    for part in re.split(r"^## ", text("CHANGELOG.md"), flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", part, re.MULTILINE)
        assert [kind for kind in ("Added", "Changed", "Fixed") if kind in kinds] == kinds
        for entry in re.split(r"^- ", part, flags=re.MULTILINE)[1:]:
            assert len(entry.split("\n### ")[0].strip().splitlines()) <= 3, entry


def test_hosted_ci_covers_the_versions_that_the_project_promises():
    jobs = yaml.safe_load(text(".github/workflows/ci.yml"))["jobs"]
    least = tomllib.loads(text("pyproject.toml"))["project"]["requires-python"].removeprefix(">=")
    pythons = jobs["python"]["strategy"]["matrix"]["python"]
    assert jobs["suite"]["steps"][1]["with"]["python-version"] == least
    assert {least, *pythons} == {"3.11", "3.12", "3.13", "3.14"}
    assert jobs["rust"]["strategy"]["matrix"]["toolchain"] == [CARGO["rust-version"], "stable"]
    assert jobs["suite"]["steps"][-1]["run"] == ".ci/run"
    goals = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    asked = {goal for run in runs if run.startswith("make ") for goal in run.split()[1:]}
    assert asked and asked <= goals


def test_every_generated_file_is_marked_for_reviews():
    import fnmatch

    import generate

    marked = [
        line.split()[0] for line in text(".gitattributes").splitlines() if line.endswith("linguist-generated")
    ]
    files = [str(path) for path in generate.files()]
    assert [path for path in files if not any(fnmatch.fnmatch(path, pattern) for pattern in marked)] == []
