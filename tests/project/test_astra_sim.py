"""`tools/astra_sim.py`: its messages, and ASTRA-sim's own examples where ASTRA names a checkout."""

import os
import re
import subprocess
from pathlib import Path

import astra_sim
import pytest
from conftest import ROOT


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


def closed_form_ns(operation, ranks):
    """The time of a microbenchmark of 1 MB on a ring, as docs/how-to/astra-sim.md derives it."""
    size = 2**18 if operation == "all_gather" else 2**18 // ranks
    steps = {"all_reduce": 2 * (ranks - 1), "all_to_all": ranks * (ranks - 1) // 2}.get(operation, ranks - 1)
    reducing = ranks - 1 if operation in ("all_reduce", "reduce_scatter") else 0
    message = 500 + size // 4096 * 77.449
    return 4 * (steps * (10 + message) + reducing * 3 * (size // 1600) + 10)


def test_the_closed_form_is_that_of_the_page():
    page = (ROOT / "docs/how-to/astra-sim.md").read_text()
    rows = re.findall(
        r"^\| (all-\w+(?:-all)?|reduce-scatter) \| (\d{1,2}) \| \d+ \| ([\d.]+) \|", page, re.MULTILINE
    )
    assert len(rows) == 12
    for operation, ranks, time in rows:
        assert closed_form_ns(operation.replace("-", "_"), int(ranks)) == pytest.approx(float(time), abs=1e-6)


@pytest.fixture(scope="module")
def checked_out():
    astra = os.environ.get("ASTRA")
    if not astra:
        pytest.skip("ASTRA names no checkout of ASTRA-sim")
    astra = Path(astra).resolve()
    astra_sim.build(astra, Path(os.environ.get("YAML") or astra / astra_sim.YAML).resolve())
    return astra / "examples"


@pytest.mark.parametrize("ranks", [4, 8, 16])
@pytest.mark.parametrize("operation", ["all_gather", "all_reduce", "reduce_scatter", "all_to_all"])
def test_an_example_of_astra_sim_takes_its_closed_form(checked_out, tmp_path, operation, ranks):
    time = time_ns(
        checked_out, tmp_path, ranks, operation, "native_collectives/Ring_4chunks", f"ring-{ranks}"
    )
    assert time == pytest.approx(closed_form_ns(operation, ranks), abs=1e-6)


@pytest.mark.parametrize(
    ("system", "network", "time"),
    [
        ("custom_collectives/custom_collective", "ring-8", 14 * (500 + 32 * 77.449) + 49000),
        # Two rounds of two chunks; the second one waits for a message, and for 160 acknowledgements in all.
        (
            "native_collectives/HGX-H100-validated",
            "switch-8",
            2 * (14 * (10 + 2 * 936.25 + 9 * 9.682) + 7 * 27 + 10) + 8 * 9.682 + 160 * 0.154,
        ),
    ],
)
def test_a_custom_collective_and_a_switch_take_theirs(checked_out, tmp_path, system, network, time):
    found = time_ns(checked_out, tmp_path, 8, "all_reduce", system, network)
    assert found == pytest.approx(time, abs=1e-6)


def time_ns(checked_out, place, ranks, operation, system, network):
    """The time that the program prints for a microbenchmark. System files name paths from the checkout."""
    given = {
        "workload": checked_out / f"workload/microbenchmarks/{operation}/{ranks}npus_1MB/{operation}",
        "system": checked_out / f"system/{system}.json",
        "remote-memory": checked_out / "remote_memory/analytical/no_memory_expansion.json",
        "network": ROOT / f"crates/c/astra-sim/networks/{network}.toml",
    }
    options = [f"--{name}-configuration={path}" for name, path in given.items()]
    command = [astra_sim.PROGRAM, *options, f"--logging-folder={place}"]
    ran = subprocess.run(command, cwd=checked_out.parent, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    time = re.search(rf"^{ranks} ranks on Shallows: ([\d.]+) ns$", ran.stdout, re.MULTILINE)
    return float(time[1])
