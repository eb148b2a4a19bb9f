"""The notebooks run from top to bottom, and are kept without their outputs."""

import json
import os

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="the extra `notebook` is not installed")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    monkeypatch.delenv("SHALLOWS_STORE", raising=False)
    place = tmp_path / "docs/notebooks"
    place.mkdir(parents=True)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(place)}}
    )
    client.execute(env=dict(os.environ))
    assert list(place.iterdir()) == []
    assert (tmp_path / "runs").is_dir()
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("text/html" in data and "<table" in data["text/html"] for data in shown)
    assert any({"image/png", "image/svg+xml"} & set(data) for data in shown)
    warnings = [o for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stderr"]
    assert warnings == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    for cell in json.loads(path.read_text())["cells"]:
        assert not cell.get("outputs"), "clear all outputs before committing"
        assert cell.get("execution_count") is None


def test_there_are_seven():
    assert len(NOTEBOOKS) == 7
