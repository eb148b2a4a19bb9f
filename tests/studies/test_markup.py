"""Fault 25 in pages: names and titles with markup are shown in every report, and never interpreted."""

import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from conftest import SMALL, write_toml
from shallows.cli.app import app
from shallows.studies.page.markdown import to_html

HOSTILE = "<img src=x onerror=hack()></td><script>hack()</script>\"'{{ 7*7 }}"
NAMES = SMALL | {
    "title": HOSTILE,
    "duration": "1ms",
    "seeds": 2,
    "traffic": {
        HOSTILE: {"kind": "bulk", "from": "s*", "to": "r0", "class": HOSTILE + "2", "jitter": "10us"},
    },
}
SCHEMES = {HOSTILE: {}, "other": {"queue": {"mark_at": "5pkt"}}}
SEARCH = {
    "trials": 3, "batch": 3, "seeds": 1, "confirm": 2,
    "parameters": {"queue.mark_at": {"low": 2, "high": 90, "unit": "pkt"}},
    "objectives": {"bottleneck_mean_packets": "minimise"},
}  # fmt: skip

SAFE = {'"&nbsp;"', '"_<wbr>"', "intro", "s.readme"}
"""All that templates hand on as HTML: two words of their own, and Markdown that `to_html` has made."""


class Tags(HTMLParser):
    """A page as a browser reads it: elements, handlers of events, text outside of scripts."""

    def __init__(self, page):
        super().__init__()
        self.bad, self.text, self._inside = [], "", ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self._inside = tag
        values = dict(attributes)
        if values.get("src") == "x" or "onerror" in values or tag == "marquee":
            self.bad.append((tag, attributes))

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside != "script":
            self.text += data
        elif data.startswith("hack("):
            self.bad.append((self._inside, data))


def shown(page):
    """Asserts that the page has the hostile name as text alone."""
    tags = Tags(page.read_text("utf-8"))
    assert tags.bad == [], page
    return HOSTILE in tags.text


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        app([*words, "--no-progress", "--store", "runs"], prog_name="shallows", standalone_mode=False)

    return run


def test_the_reports_of_runs_sweeps_comparisons_and_tunings(command, tmp_path):
    one = {key: value for key, value in NAMES.items() if key != "seeds"}
    command("run", str(write_toml(tmp_path / "one.toml", one)), "--report")
    command("sweep", str(write_toml(tmp_path / "several.toml", NAMES)), "--report")
    command("compare", str(write_toml(tmp_path / "two.toml", NAMES | {"compare": {"schemes": SCHEMES}})))
    command("tune", str(write_toml(tmp_path / "best.toml", one | {"tune": SEARCH})))
    pages = sorted((tmp_path / "reports").glob("*/index.html"))
    assert len(pages) == 4, pages
    assert [page for page in pages if not shown(page)] == []


def test_the_exported_page(tmp_path):
    from shallows.document.points import expand
    from shallows.web.live.export import page_of

    page = tmp_path / "page.html"
    page.write_text(page_of(expand(NAMES)[0].experiment), "utf-8")
    assert shown(page)


def test_markdown_of_a_study(tmp_path):
    page = tmp_path / "page.html"
    text = f"# {HOSTILE}\n\n{HOSTILE}\n\n[a](javascript:hack()) ![b](x) <marquee>\n\n"
    text += f"| {HOSTILE} |\n|---|\n| c |\n"
    page.write_text(to_html(text), "utf-8")
    assert "<a" not in page.read_text("utf-8")
    shown(page)


def test_templates_hand_on_nothing_else_as_html():
    """The other reports, of a paper and of the validation, rest on the same escaping."""
    found = {}
    for place in files("shallows").rglob("*.j2"):
        text = place.read_text("utf-8")
        found[place.name, place.parent.name] = set(re.findall(r"([\w.\"&;<>]+)\s*\|\s*safe", text))
        assert "autoescape" not in text, place
    assert len(found) >= 6
    assert set().union(*found.values()) <= SAFE
    for place in files("shallows").rglob("*.py"):
        for made in re.findall(r"jinja2\.(?:Environment|Template)\([^)]*\)", place.read_text("utf-8")):
            assert "autoescape=True" in made, place
