"""Builds ASTRA-sim with a network of Shallows, from a user's checkout: docs/how-to/astra-sim.md.

    make astra-sim ASTRA=DIR [YAML=DIR]

The checkout has its submodules, and has built its analytical backend once: that makes `et_def.pb.h` and gets
yaml-cpp. YAML names the sources of yaml-cpp elsewhere. CMake fetches nothing, and the checkout stays
as it is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "target/astra-sim"
PROGRAM = BUILD / "astra-sim-shallows"

HEADER = "astra-sim/common/AstraNetworkAPI.hh"
SUBMODULES = {
    "extern/graph_frontend/chakra": "src/feeder_v3/et_feeder.h",
    "extern/helper/fmt": "CMakeLists.txt",
    "extern/helper/spdlog": "CMakeLists.txt",
    "extern/remote_memory_backend/analytical": "AnalyticalRemoteMemory.hh",
}
"""Submodules that the build needs, each with a file of it."""
TRACES = "extern/graph_frontend/chakra/schema/protobuf/et_def.pb.h"
YAML = "build/astra_analytical/build/_deps/yaml-cpp-src"
SCRIPT = "build/astra_analytical/build.sh"
TOOLS = ("cargo", "cmake", "c++", "make")


def faults(astra: Path, yaml: Path) -> list[str]:
    """All reasons why it cannot be built, a line each."""
    found = [
        f"{tool}: is not installed; install it and try again" for tool in TOOLS if not shutil.which(tool)
    ]
    if not (astra / HEADER).is_file():
        wrong = f'ASTRA: must be a checkout of ASTRA-sim with {HEADER}, got "{astra}"'
        return [*found, f"{wrong}; try make astra-sim ASTRA=DIR"]
    missing = [name for name, file in SUBMODULES.items() if not (astra / name / file).is_file()]
    if missing:
        found.append(f'ASTRA: lacks the submodules {", ".join(missing)}, got "{astra}"; check them out')
    elif not (astra / TRACES).is_file():
        found.append(f'ASTRA: lacks {TRACES}, got "{astra}"; run its {SCRIPT} once')
    if not (yaml / "CMakeLists.txt").is_file():
        hint = f"run its {SCRIPT} once, or try YAML=DIR"
        found.append(f'YAML: must be the sources of yaml-cpp, got "{yaml}"; {hint}')
    return found


def build(astra: Path, yaml: Path) -> None:
    """Compiles the library, ASTRA-sim and the program."""
    cargo = ["cargo", "build", "--release", "--package", "shallows-c", "--locked"]
    configure = [
        *("cmake", "-S", str(ROOT / "crates/c/astra-sim"), "-B", str(BUILD)),
        *(f"-DASTRA={astra}", f"-DSHALLOWS_LIBRARY={ROOT / 'target/release/libshallows.so'}"),
        *(f"-DFETCHCONTENT_SOURCE_DIR_YAML-CPP={yaml}", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON"),
        *("-DYAML_CPP_BUILD_TESTS=OFF", "-DYAML_CPP_BUILD_TOOLS=OFF"),
    ]
    compile_all = ["cmake", "--build", str(BUILD), "--parallel", str(os.cpu_count() or 1)]
    for command in (cargo, configure, compile_all):
        subprocess.run(command, cwd=ROOT, check=True)


def main() -> None:
    """Checks the checkout, builds, and prints the path of the program."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("astra", type=Path, help="a checkout of ASTRA-sim with its submodules")
    options.add_argument("--yaml", type=Path, help="sources of yaml-cpp")
    given = options.parse_args()
    astra = given.astra.expanduser().resolve()
    yaml = given.yaml.expanduser().resolve() if given.yaml else astra / YAML
    found = faults(astra, yaml)
    if found:
        raise SystemExit("\n".join(found))
    try:
        build(astra, yaml)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{error.cmd[0]} failed; its messages stand above") from None
    print(PROGRAM)


if __name__ == "__main__":
    main()
