"""The parts of Shallows: docs/licences.md, and with `--sbom FILE` a bill of materials (CycloneDX 1.5).

The compiled part's dependencies come from Cargo.lock, the Python part's from uv.lock: those that a user gets,
with all extras, without the tools of development. ECharts, which draws
figures in reports, lies in the package. Works without the network.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]

COMPATIBLE = {
    "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT", "MIT-CMU", "HPND", "BSD-2-Clause",
    "BSD-3-Clause", "0BSD", "ISC", "PSF-2.0", "Python-2.0", "Zlib", "Unicode-3.0", "CC0-1.0",
    "Unlicense", "MPL-2.0", "Matplotlib", "Public Domain",
}  # fmt: skip
"""May be distributed with a whole under Apache-2.0. MPL-2.0 as separate files, unchanged."""

WRITTEN = {
    "MIT License": "MIT", "Apache Software License": "Apache-2.0", "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause", "Apache 2.0": "Apache-2.0", "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0", "The MIT License (MIT)": "MIT",
    "BSD 3-Clause": "BSD-3-Clause", "BSD-3": "BSD-3-Clause", "3-Clause BSD License": "BSD-3-Clause",
    "Python Software Foundation License": "PSF-2.0", "PSF": "PSF-2.0", "ISC License (ISCL)": "ISC",
    "new BSD": "BSD-3-Clause", "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "MIT license": "MIT",
    "Apache 2": "Apache-2.0", "Dual License": "", "The Unlicense (Unlicense)": "Unlicense",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
}  # fmt: skip
"""Licences as packages without an SPDX expression name them."""

NOTE = "Made by `python tools/supply_chain.py` from Cargo.lock and uv.lock; do not edit."


class Package(NamedTuple):
    """A dependency: where it is from (`cargo`, `npm` or `pypi`), its name, version and licence (SPDX)."""

    origin: str
    name: str
    version: str
    licence: str

    @property
    def purl(self) -> str:
        """Its package URL."""
        return f"pkg:{self.origin}/{self.name}@{self.version}"

    @property
    def compatible(self) -> bool:
        """Whether some choice that its licence leaves is compatible with ours."""
        text = re.sub(r"[()]", " ", self.licence.replace("/", " OR "))
        if " AND " in text and " OR " in text:  # (A OR B) AND C: each part leaves a choice
            return all(any(_known(one) for one in part.split(" OR ")) for part in text.split(" AND "))
        return any(all(_known(one) for one in choice.split(" AND ")) for choice in text.split(" OR "))


def _known(licence: str) -> bool:
    return licence.strip() in COMPATIBLE


def rust() -> list[Package]:
    """The crates in the core."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    known = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    packages = {package["id"]: package for package in known["packages"]}
    way = [package["id"] for package in packages.values() if package["name"] == "shallows-py"]
    used: set[str] = set()
    while way:
        one = way.pop()
        if one not in used:
            used.add(one)
            way += [d["pkg"] for d in nodes[one]["deps"] if any(k["kind"] != "dev" for k in d["dep_kinds"])]
    found = [packages[one] for one in used if packages[one]["source"] is not None]
    return sorted(Package("cargo", p["name"], p["version"], p["license"] or "unknown") for p in found)


def python() -> list[Package]:
    """The packages of a user's environment, with all extras."""
    bill = python_bill()
    return sorted(
        Package("pypi", one["name"], one["version"], _licence(one["name"]))
        for one in bill.get("components", [])
    )


def within() -> list[Package]:
    """The parts within the package itself: the library that draws figures in pages."""
    text = (ROOT / "python/shallows/figures/page/echarts.min.js").read_text(encoding="utf-8")
    version = re.search(r'\.version="(\d+\.\d+\.\d+)"', text)
    assert version is not None
    return [Package("npm", "echarts", version[1], "Apache-2.0 AND BSD-3-Clause")]


def python_bill() -> dict[str, Any]:
    """uv's bill of materials."""
    command = [ROOT / "tools/uv", "export", "--frozen", "--no-dev", "--all-extras", "--quiet"]
    command += ["--format", "cyclonedx1.5", "--preview-features", "sbom-export"]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)


def _licence(name: str) -> str:
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return "not installed here"
    if about.get("License-Expression"):
        return about["License-Expression"]
    words = [c.rsplit(" :: ", 1)[1] for c in about.get_all("Classifier") or [] if c.startswith("License :: ")]
    written = (about.get("License") or "").split("\n")[0]
    named = [WRITTEN.get(word, word) for word in [*words, written] if word and word != "OSI Approved"]
    return next((word for word in named if word), "unknown")


def page() -> str:
    """The text of docs/licences.md."""
    text = f"# Licences of all dependencies\n\n<!-- {NOTE} -->\n\n"
    text += "Shallows is Apache-2.0. It links and installs only what may be distributed with that.\n"
    parts = {
        "Compiled into the core": rust(),
        "Within the package": within(),
        "Installed beside it": python(),
    }
    for title, packages in parts.items():
        text += f"\n## {title}\n\n| package | version | licence |\n|---|---|---|\n"
        text += "".join(f"| {p.name} | {p.version} | {p.licence} |\n" for p in packages)
    return text


def bill() -> dict[str, Any]:
    """The bill of materials of core and Python part together."""
    whole = python_bill()
    licences = {package.name: package.licence for package in python()}
    for component in whole["components"]:
        component["licenses"] = [{"license": {"name": licences[component["name"]]}}]
    for package in rust() + within():
        about = {"type": "library", "bom-ref": package.purl, "name": package.name, "version": package.version}
        about |= {"purl": package.purl, "licenses": [{"expression": package.licence.replace("/", " OR ")}]}
        whole["components"].append(about)
    return whole


def main() -> None:
    """Writes the page, or the bill."""
    if "--sbom" in sys.argv:
        path = Path(sys.argv[sys.argv.index("--sbom") + 1])
        path.write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
    else:
        path = ROOT / "docs/licences.md"
        path.write_text(page(), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
