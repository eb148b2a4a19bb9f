"""The documentation: plain English, code blocks that run, a complete navigation, and a strict build."""

import re
import shlex
import sys
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from conftest import ROOT
from pages import generated, papers, pictures, prose
from pages.blocks import Block, blocks_of, commands_of

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if any(b.note != "not run" for b in blocks_of(page) if b.language)]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


# ---- plain English ----


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_sentences_average_at_most_20_words(page):
    text = page.read_text()
    longest = sorted(prose.sentences(text), key=lambda sentence: -len(sentence.split()))[:3]
    assert prose.mean_words(text) <= prose.MOST_WORDS, longest


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_has_a_banned_phrase(page):
    text = page.read_text()
    if page == prose.STYLE:
        text = re.sub(r"## Errors.*<!-- end -->", "", text, flags=re.DOTALL)
    assert prose.banned_in(text) == []


PYTHON = ("python/shallows/**/*.py", "tests/**/*.py", "tools/**/*.py", "soak/*.py", "experiments/**/*.py")
SOURCES = (*PYTHON, "crates/**/*.rs", "experiments/**/*.md", "**/*.j2")


def test_no_source_has_a_banned_phrase():
    """Messages, comments, file heads, READMEs of studies and report templates."""
    skipped = {"target", ".venv", "_data", "node_modules", ".cache"}
    found = []
    for path in (path for pattern in SOURCES for path in ROOT.glob(pattern)):
        if not skipped & {*path.parts}:
            found += [f"{name(path)}:{line}: {phrase}" for line, phrase in prose.banned_in(path.read_text())]
    assert found == []


def test_no_comment_of_rust_begins_with_a_clause():
    """Subject first: `The queue that it finds`, not `What it finds`."""
    found = [
        f"{name(path)}:{line}: {clause}"
        for path in (ROOT / "crates").rglob("*.rs")
        for line, clause in prose.clauses_in(path.read_text())
    ]
    assert found == []


def test_no_clause_is_the_subject_of_a_comment_or_docstring_of_python():
    found = [
        f"{name(path)}:{line}: {clause}"
        for pattern in PYTHON
        for path in ROOT.glob(pattern)
        if path.name not in ("_classes.py", "study_fixture.py")  # generated from Rust; a page under test
        for line, clause in prose.clauses_in_python(path.read_text())
    ]
    assert found == []


def test_such_a_clause_is_found():
    rust = '/// What it is.\n// Sent. Who asks is served\n//! What is lost?\nlet what = "What is it";\n'
    assert prose.clauses_in(rust) == [(1, "What it is."), (2, "Who asks is served")]
    python = (
        'def f():\n    """Sends; what is lost is sent again."""\n    # who asks waits\n    # What is lost?\n'
    )
    assert prose.clauses_in_python(python) == [(2, "what is lost is sent again."), (3, "who asks waits")]


def test_the_measure_counts_words_and_finds_phrases_across_lines():
    page = "# Title\n\nOne two three. Four five!\n\n| a table | is not prose |\n\n- An item of five words\n"
    assert prose.sentences(page) == ["One two three.", "Four five!", "An item of five words"]
    assert prose.mean_words(page) == pytest.approx(10 / 3)
    assert prose.banned_in("It hangs\n// on the wall.") == [(1, "hangs\n// on")]


def test_the_glossary_has_forty_terms_each_once():
    terms = re.findall(r"^\| ([^|]+) \|", prose.STYLE.read_text().split("## Glossary")[1], re.MULTILINE)[2:]
    assert len(terms) >= 40
    assert len(set(terms)) == len(terms)
    assert sorted(terms, key=str.lower) == terms


def test_the_page_of_messages_has_those_of_python_and_of_rust():
    page = generated.messages.page()
    for known in (
        "must be greater than zero",  # Python
        "must name at least one host (hosts: {})",  # Rust
        "Runs one experiment: prints a summary, stores the run, draws a figure.",  # help
    ):
        assert known in page, known


def test_the_snapshot_of_messages_is_the_programs():
    """Every message is read before it is merged, against docs/style.md."""
    kept = generated.messages.SNAPSHOT.read_text().splitlines()
    assert generated.messages.messages().splitlines() == kept, "make messages, and read its difference"


def test_no_message_has_a_banned_phrase():
    assert prose.banned_in(generated.messages.SNAPSHOT.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_table_has_its_head(page):
    """Rows after an empty line are no table but text with bars."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = table.splitlines()
        assert len(rows) > 1 and re.fullmatch(r"[|: -]+", rows[1]), rows[0]


# ---- code that runs ----


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory of its own with the experiments beside it, and one store for all pages."""
    import matplotlib as mpl

    mpl.use("Agg")
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    monkeypatch.setenv("SHALLOWS_STORE", str(tmp_path.parent / "docs-runs"))
    monkeypatch.setenv("COLUMNS", "100")
    with chdir(tmp_path):
        yield tmp_path


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_of_a_page_runs(page, place):
    scope = pictures.new_scope()
    for block in blocks_of(page):
        where = f"{name(page)}:{block.line}"
        if block.note == "not run":
            assert block.value, f"{where}: the note needs its reason"
        elif block.note == "file":
            path = place / block.value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language == "python":
            with redirect_stdout(StringIO()):
                pictures.run_block(block, scope)
        elif block.language == "sh":
            run_commands(block, where)
        elif block.language == "toml":
            tomllib.loads(block.text)


def run_commands(block: Block, where: str) -> None:
    """Runs each `./shallows` line in this process, which saves its start; others are refused."""
    from shallows.cli import entry

    for command in commands_of(block):
        program, *arguments = shlex.split(command)
        serves = arguments[:1] == ["web"]
        assert program == "./shallows" and not serves, f"{where}: note why {command!r} is not run"
        out, err = StringIO(), StringIO()
        old, sys.argv = sys.argv, ["./shallows", *arguments]
        try:
            with redirect_stdout(out), redirect_stderr(err):
                status = entry._run(False)  # `main` also ends the process
        finally:
            sys.argv = old
        wanted = 2 if block.note == "fails" else 0
        assert status == wanted, f"{where}: {command}\n{out.getvalue()}{err.getvalue()}"


# ---- the site ----


def navigation() -> set[str]:
    return set(re.findall(r"[\w./-]+\.md\b", (ROOT / "mkdocs.yml").read_text().split("\nnav:")[1]))


def test_every_page_is_in_the_navigation_and_it_has_no_other():
    made = {path for path in generated.pages() if not path.startswith("papers/")}
    written = {str(page.relative_to(ROOT / "docs")) for page in PAGES[2:]}
    assert written | made == navigation()


def test_every_public_name_has_an_entry():
    import shallows

    page = generated.api()
    entries = set(re.findall(r"^::: \S*?(\w+)$", page, re.MULTILINE))
    assert set(shallows.__all__) - {"__version__"} <= entries


def test_the_command_line_page_has_every_command():
    from shallows.cli.app import app

    page = generated.command_line()
    for command in app.registered_commands:
        word = command.name or command.callback.__name__.strip("_")
        assert f"`./shallows {word}`" in page, word


def test_every_paper_has_a_page_with_all_its_figures():
    pages = papers.pages()
    for claims in (ROOT / "experiments").glob("*/*/claims.toml"):
        assert f"{{ #{claims.parent.name} }}" in pages[f"papers/{claims.parents[1].name}.md"]
