"""Faults: every raiser gives the value itself, and one function prints it as the checker in Rust does."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, SMALL
from shallows.document.check import check
from shallows.errors import NOTHING, Fault, SpecError, Written

PRINTERS = {"json.dumps", "repr", "show", "str"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("500pkt", 'got "500pkt"'),
        ("", 'got ""'),
        (7, "got 7"),
        (True, "got true"),
        (["a", "b"], 'got ["a", "b"]'),
        (Path("a b.toml"), 'got "a b.toml"'),
        (Written("1 and 2"), "got 1 and 2"),
    ],
)
def test_a_value_is_printed_one_way(value, text):
    assert str(Fault("x", "is wrong", value)) == f"x: is wrong, {text}"
    assert str(replace(Fault("x", "is wrong", value), path="y")) == f"y: is wrong, {text}"


def test_a_fault_without_a_value_shows_none():
    assert str(Fault("x", "is missing")) == str(Fault("x", "is missing", NOTHING)) == "x: is missing"


def test_python_and_rust_print_the_same_value():
    document = SMALL | {"queue": {"kind": "threshold", "limit": "10pkt", "mark_at": "500pkt"}}
    [fault] = check(document)[1]
    assert fault.value == Fault("", "", "500pkt").value == '"500pkt"'
    assert SpecError([fault]).faults == [fault]


def test_no_raiser_prints_its_value_itself():
    for path in (ROOT / "python/shallows").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Fault":
                named = [each.value for each in node.keywords if each.arg == "value"]
                for value in [*node.args[2:3], *named]:
                    branches = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                    for each in branches:
                        quoted = (
                            isinstance(each, ast.JoinedStr) and getattr(each.values[0], "value", "") == '"'
                        )
                        made = isinstance(each, ast.Call) and ast.unparse(each.func) in PRINTERS
                        empty = isinstance(each, ast.Constant) and each.value == ""
                        assert not (quoted or made or empty), f"{path}:{each.lineno}: {ast.unparse(each)}"
