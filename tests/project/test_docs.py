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
from pages import commands, generated, papers, pictures, pointers, prose
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
        text = re.sub(r"## Errors.*## Glossary", "", text, flags=re.DOTALL)
    assert prose.banned_in(text) == []
    assert prose.stems_in(re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)) == []


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


def sources() -> list[Path]:
    """Hand-written sources of Rust and Python, with comments and docstrings for readers."""
    # Made from Rust, which is read; a page under test; this file, which has examples.
    generated_ones = {"_classes.py", "study_fixture.py", "test_docs.py"}
    found = {path for pattern in (*PYTHON, "crates/**/*.rs") for path in ROOT.glob(pattern)}
    return sorted(path for path in found if path.name not in generated_ones and "_data" not in path.parts)


def test_no_comment_or_docstring_has_a_banned_stem():
    found = [
        f"{name(path)}:{line}: {stem}"
        for path in sources()
        for line, remark in prose.remarks_in(path)
        for _, stem in prose.stems_in(remark)
    ]
    assert found == []


def test_every_comment_stands_alone():
    """An editor shows a doc comment alone: "The same, to change." says nothing there."""
    found = [
        f"{name(path)}:{line}: {fragment}"
        for path in sources()
        for line, fragment in prose.fragments_in(prose.remarks_in(path))
    ]
    assert found == []


def test_stems_and_fragments_are_found():
    rust = "/// Of the run.\n/// It has a part\n/// Of the second.\nlet heard = 1; // The same, bears it.\n"
    remarks = prose.remarks_in_rust(rust)
    assert prose.fragments_in(remarks) == [(1, "Of the run."), (4, "The same, bears it.")]
    assert [stem for _, line in remarks for _, stem in prose.stems_in(line)] == ["bears"]
    assert prose.stems_in("He hears\nof it; they were told. Beard.") == [
        (1, "hears"),
        (2, "were told"),
    ]
    python = 'x = 1\n"""Of the run."""\n# The same as x.\nhear = "bears"\n'
    remarks = prose.remarks_in_python(python)
    assert [line for line, _ in prose.fragments_in(remarks)] == [2, 3]
    assert [stem for _, line in remarks for _, stem in prose.stems_in(line)] == []


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
        "Runs one experiment. Prints a summary, stores the run, draws a figure.",  # help
    ):
        assert known in page, known


def test_the_snapshot_of_messages_is_the_programs():
    """Every message is read before it is merged, against docs/style.md."""
    kept = generated.messages.SNAPSHOT.read_text().splitlines()
    assert generated.messages.messages().splitlines() == kept, "make messages, and read its difference"


def test_no_message_has_a_banned_phrase():
    text = generated.messages.SNAPSHOT.read_text()
    assert prose.banned_in(text) + prose.stems_in(text) == []


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


def test_every_pointer_leads_somewhere():
    """A path or an anchor that a comment, a docstring or a page names exists."""
    found = [
        fault for path in pointers.checked() for fault in pointers.missing_in(path, pointers.lines_of(path))
    ]
    assert found == []
    assert (
        sum(len(pointers._PATH.findall(line)) for p in pointers.checked() for _, line in pointers.lines_of(p))
        > 500
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("see `docs/architecture.md`", None),
        ("see docs/architecture.md#the-store", None),
        ("see docs/architecture.md#the-shop", "no anchor docs/architecture.md#the-shop"),
        ("see docs/architectures.md", "no file docs/architectures.md"),
        ("the port is in `net/port/mod.rs`", None),
        ("the port is in `net/harbour.rs`", "no file net/harbour.rs"),
        ("the scoreboard (`scoreboard.rs`)", None),
        ("the scoreboard (`blackboard.rs`)", "no file blackboard.rs"),
        ("[store](../reference/tables.md) of `crates/core/src/cc/NAME.rs`, Linux net/ipv4/tcp_input.c", None),
        ("[store](../reference/table.md)", "no file ../reference/table.md"),
        ("https://example.org/a/b.md and a glob `crates/**/x.rs`", None),
    ],
)
def test_a_pointer_that_leads_nowhere_is_found(line, fault):
    found = pointers.missing_in("docs/concepts/port.md", [(7, line)])
    assert found == ([] if fault is None else [f"docs/concepts/port.md:7: {fault}"])


def test_every_public_name_has_an_entry():
    import shallows

    page = generated.api()
    entries = set(re.findall(r"^::: \S*?(\w+)$", page, re.MULTILINE))
    assert set(shallows.__all__) - {"__version__"} <= entries


def test_every_command_has_a_page_with_its_help_and_links_that_lead_somewhere():
    from shallows.cli.app import app

    made = commands.pages()
    known = {command.name or command.callback.__name__.strip("_") for command in app.registered_commands}
    assert known | {"new", "copy", "linux"} == {Path(path).stem for path in made} - {"index"}
    for path, text in made.items():
        assert path in commands.entries()
        if not path.endswith("index.md"):
            assert "  --help" in text or "-h, --help" in text, path
        for place in re.findall(r"\]\(\.\./\.\./(\S+)\)", text):
            assert (ROOT / "docs" / place).is_file(), place
    assert "## `./shallows linux exec`" in made["reference/commands/linux.md"]
    assert "[Tutorial](../../tutorial.md)" in made["reference/commands/run.md"]


def test_every_paper_has_a_page_with_all_its_figures():
    pages = papers.pages()
    for claims in (ROOT / "experiments").glob("*/*/claims.toml"):
        assert f"{{ #{claims.parent.name} }}" in pages[f"papers/{claims.parents[1].name}.md"]


def test_the_walks_of_the_architecture_have_ten_steps_with_files():
    """One packet, one experiment, one claim: each step names a file, and every file exists."""
    text = (ROOT / "docs/architecture.md").read_text().split("## Three walks")[1].split("\n## ")[0]
    for walk in text.split("\n### ")[1:]:
        steps = re.findall(r"^\d+\. .*$", walk, re.MULTILINE)
        assert len(steps) == 10, walk
        for step in steps:
            files = re.findall(r"`([\w./-]+\.(?:rs|py|toml))`", step)
            assert files, step
            assert all((ROOT / file).is_file() for file in files), step
