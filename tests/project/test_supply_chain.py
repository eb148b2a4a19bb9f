"""Dependencies: each with a licence that goes with ours, listed, and in the bill of materials."""

import hashlib
import re

import supply_chain
from conftest import ROOT
from supply_chain import Package

ELSEWHERE = "not installed here"
"""The licence of a package that another platform needs."""


def test_every_dependency_has_a_compatible_licence():
    packages = supply_chain.rust() + supply_chain.within() + supply_chain.python()
    assert len(packages) > 60
    assert [each for each in packages if not each.compatible and each.licence != ELSEWHERE] == []
    assert sum(each.licence == ELSEWHERE for each in packages) < 8


def test_what_counts_as_compatible():
    def compatible(licence):
        return Package("cargo", "x", "1", licence).compatible

    assert compatible("MIT OR GPL-3.0") and compatible("MIT/Apache-2.0")
    assert compatible("(MIT OR Apache-2.0) AND Unicode-3.0") and compatible("Apache-2.0 WITH LLVM-exception")
    assert not compatible("GPL-2.0-only") and not compatible("MIT AND GPL-3.0") and not compatible("unknown")
    assert not compatible("(GPL-3.0 OR AGPL-3.0) AND MIT")


def test_the_page_lists_them_all():
    page = (ROOT / "docs/licences.md").read_text()
    missing = [
        p
        for p in supply_chain.rust() + supply_chain.within() + supply_chain.python()
        if f"| {p.name} | {p.version} |" not in page
    ]
    assert missing == [], "stale; run: make sbom"


def test_the_bill_of_materials_holds_both_parts():
    bill = supply_chain.bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    purls = {component["purl"].split("@")[0] for component in bill["components"]}
    assert {"pkg:cargo/serde_json", "pkg:cargo/pyo3", "pkg:pypi/polars", "pkg:pypi/typer"} <= purls
    assert all(component["licenses"] for component in bill["components"])


def test_the_library_of_figures_is_the_published_file():
    """`dist/echarts.min.js` of the npm package echarts 6.0.0, unchanged."""
    folder = ROOT / "python/shallows/figures/page"
    digest = hashlib.sha256((folder / "echarts.min.js").read_bytes()).hexdigest()
    assert digest == "baa8dfe7e1d9336b98e8986ba7e20ea15e7cdbea1ef42a59d59478632fa45a1d"
    assert "Apache License" in (folder / "LICENSE.echarts").read_text()


def test_unsafe_code_stands_where_the_page_says():
    told = (ROOT / "SECURITY.md").read_text()
    sources = (path.relative_to(ROOT) for path in (ROOT / "crates").rglob("*.rs"))
    allowing = {str(path) for path in sources if "allow(unsafe_code)" in (ROOT / path).read_text()}
    assert allowing == set(re.findall(r"`(crates/\S+\.rs)`", told))
