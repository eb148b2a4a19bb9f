"""Names, titles and mistakes on the command line: shown as they are, refused in words."""

import os
import subprocess
import sys

import pytest
from conftest import SMALL, shallows, write_toml
from shallows import terminal as console
from shallows.errors import Fault, SpecError


@pytest.mark.parametrize("target", ["", "/", "//", "../experiments", "xdctcp/../dctth"])
def test_reproduce_refuses_what_names_nothing(tmp_path, target):
    """Fault 23: the empty target reproduced everything, `/` wrote a report named by nothing."""
    done = shallows("reproduce", target, "--quick", cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["class", "None", "match", "async-def", "lambda", "True"])
def test_new_refuses_the_words_of_python(tmp_path, name):
    """Fault 23: `new cc class` wrote a file that nothing can import."""
    done = shallows("new", "cc", name, cwd=tmp_path)
    assert done.returncode == (0 if name == "async-def" else 2), done.stderr
    assert name == "async-def" or "word of Python" in done.stderr


NASTY = "[bold red]a[/] \x1b[31mb\x1b]0;c\x07 \x9b1m \u202e $\\frac{ <script>alert(1)</script> :smile:"
SHOWN = "[bold red]a[/] \\x1b[31mb\\x1b]0;c\\x07 \\x9b1m \\u202e $\\frac{ <script>alert(1)</script> :smile:"


def test_names_are_shown_not_interpreted(capsys):
    """Fault 25: markup coloured, `[/]` crashed, escape sequences reached the terminal."""
    console.print_table(NASTY, (NASTY, "x"), [(NASTY, 1)])
    console.print_metrics(NASTY, {NASTY: NASTY})
    console.print_error(SpecError([Fault(NASTY, NASTY, NASTY, NASTY)]), as_json=False)
    out, err = capsys.readouterr()
    for text in (out, err):
        assert SHOWN in text
        assert "\x1b" not in text
        assert "\x9b" not in text
        assert "\u202e" not in text


def test_a_title_is_shown_not_interpreted(tmp_path):
    title = NASTY.replace("\x1b", "").replace("\x07", "").replace("\x9b", "")
    file = write_toml(tmp_path / "small.toml", SMALL | {"title": title})
    done = shallows("run", file, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[bold red]a[/]" in done.stdout
    script = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    command = [sys.executable, "-m", "shallows", "run", "small.toml", "--seeds", "2"]
    env = {**os.environ, "COLUMNS": "200", "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "[bold red]a[/]" in done.stdout


def test_names_in_a_figure_are_no_formulas(tmp_path):
    from shallows.figures import style

    figure = style.figure() if hasattr(style, "figure") else style.canvas()[0]
    axes = figure.axes[0] if figure.axes else figure.add_subplot()
    axes.plot([1, 2], label=NASTY)
    axes.set_title(NASTY)
    axes.legend()
    picture = style.image(figure).decode()
    assert "<script>" not in picture
