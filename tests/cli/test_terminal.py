"""Output of the terminal: quantities in units of their size, tables that fit."""

import re

import pytest
from shallows import terminal


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("goodput_bps", 2.656e13, "26.56 Tb/s"),
        ("goodput_bps", 2.69e9, "2.69 Gb/s"),
        ("size_bytes", 3e12, "3 TB"),
        ("wait_ps", 1.5e6, "1.5 us"),
        ("drops", 3, "3"),
    ],
)
def test_a_quantity_is_shown_in_a_unit_of_its_size(name, value, shown):
    assert terminal.readable(name, value) == shown


def test_a_table_that_is_too_wide_is_continued_with_its_first_column():
    assert terminal._parts([10, 10, 10, 10], room=100) == [[0, 1, 2, 3]]
    assert terminal._parts([10, 10, 10, 10], room=28) == [[0, 1, 2], [0, 3]]
    assert terminal._parts([10, 90, 10], room=28) == [[0, 1], [0, 2]]


def test_no_line_of_a_table_is_wider_than_the_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    columns = ["point", *(f"metric_{k}_bps" for k in range(8))]
    terminal.print_table("", columns, [["a", *range(8)], ["b", *range(8)]])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 60
    assert sum("point" in line for line in lines) == 3
    assert all(f"metric_{k}_bps" in "".join(lines) for k in range(8))
