"""`tools/astra_sim.py`: its messages, and ASTRA-sim's own examples where ASTRA names a checkout."""

import astra_sim
import pytest


def checkout(place, *files):
    """A directory with these files, empty."""
    for name in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).touch()
    return place


SUBMODULES = [f"{name}/{file}" for name, file in astra_sim.SUBMODULES.items()]


@pytest.fixture(autouse=True)
def all_tools(monkeypatch):
    monkeypatch.setattr(astra_sim.shutil, "which", lambda tool: f"/usr/bin/{tool}")


def test_a_complete_checkout_has_no_fault(tmp_path):
    astra = checkout(tmp_path, astra_sim.HEADER, astra_sim.TRACES, *SUBMODULES, "yaml/CMakeLists.txt")
    assert astra_sim.faults(astra, tmp_path / "yaml") == []


def test_another_directory_is_no_checkout(tmp_path):
    (fault,) = astra_sim.faults(tmp_path, tmp_path)
    assert fault.startswith("ASTRA: must be a checkout of ASTRA-sim with astra-sim/common/AstraNetworkAPI.hh")
    assert fault.endswith(f'got "{tmp_path}"; try make astra-sim ASTRA=DIR')


def test_missing_submodules_are_named_with_the_missing_yaml(tmp_path):
    astra = checkout(tmp_path, astra_sim.HEADER, *SUBMODULES[:2])
    submodules, yaml = astra_sim.faults(astra, tmp_path / "yaml")
    assert "lacks the submodules extern/helper/spdlog, extern/remote_memory_backend/analytical" in submodules
    assert yaml.startswith("YAML: must be the sources of yaml-cpp") and yaml.endswith("or try YAML=DIR")


def test_a_checkout_that_was_never_built_is_sent_to_its_own_script(tmp_path):
    astra = checkout(tmp_path, astra_sim.HEADER, *SUBMODULES, "yaml/CMakeLists.txt")
    (fault,) = astra_sim.faults(astra, tmp_path / "yaml")
    assert fault.endswith("run its build/astra_analytical/build.sh once")


def test_missing_tools_are_named_first(tmp_path, monkeypatch):
    monkeypatch.setattr(astra_sim.shutil, "which", lambda tool: None if tool == "cmake" else tool)
    tool, directory = astra_sim.faults(tmp_path, tmp_path)
    assert tool == "cmake: is not installed; install it and try again"
    assert directory.startswith("ASTRA: ")


def test_a_faulty_directory_ends_the_tool(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["astra_sim.py", str(tmp_path), "--yaml", str(tmp_path)])
    with pytest.raises(SystemExit, match="ASTRA: must be a checkout"):
        astra_sim.main()
