"""The assertions of a script over tcp_info: comparisons of known names, never a program.

packetdrill hands the text between `%{` and `}%` to Python. Scripts are data here: of Python's syntax tree,
numbers, names, arithmetic and comparisons are evaluated, and everything else is refused.
"""

from __future__ import annotations

import ast
import operator
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

__all__ = ["Assertion", "Assertions", "NotKnown", "read"]

_OPERATIONS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
}


class NotKnown(Exception):
    """The text has a part that this room does not evaluate: it compares numbers and known names only."""


class Assertion:
    """One `assert`."""

    def __init__(self, tree: ast.expr):
        self._tree = tree
        self.text = ast.unparse(tree)
        """The condition."""
        self.names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
        """Names of tcp_info in it, and constants."""

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether it is true of `values`."""
        return bool(_value(self._tree, values))


class Assertions:
    """The assertions of a script, with the names that it gives whole numbers; its prints are left out."""

    def __init__(self) -> None:
        self._own: dict[str, int] = {}

    def read(self, text: str) -> Iterator[Assertion]:
        """The assertions of a piece of code. Raises NotKnown."""
        for statement in _statements(text):
            match statement:
                case ast.Assert(test):
                    yield Assertion(self._settled(test))
                case ast.Assign([ast.Name(name)], value):
                    self._own[name] = self._number(value)
                case ast.AugAssign(ast.Name(name) as target, how, value):
                    before = ast.Name(target.id, ast.Load())
                    self._own[name] = self._number(ast.BinOp(before, how, value))
                case ast.Expr(ast.Call(ast.Name("print"))):
                    pass
                case _:
                    raise NotKnown(f"is no assertion: {ast.unparse(statement)}")

    def _settled(self, tree: ast.expr) -> ast.expr:
        _check(tree)
        return _Numbers(self._own).visit(tree)

    def _number(self, tree: ast.expr) -> int:
        settled = self._settled(tree)
        if any(isinstance(node, ast.Name) for node in ast.walk(settled)):
            raise NotKnown(f"keeps more than a number: {ast.unparse(tree)}")
        value = _value(settled, {})
        if not isinstance(value, int):
            raise NotKnown(f"is no whole number: {ast.unparse(tree)}")
        return value


class _Numbers(ast.NodeTransformer):
    """Puts the numbers of names in their places."""

    def __init__(self, own: Mapping[str, int]):
        self._own = own

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self._own[node.id]) if node.id in self._own else node


def read(text: str) -> Iterator[Assertion]:
    """The assertions of a piece of code that stands alone. Raises NotKnown."""
    return Assertions().read(text)


def _statements(text: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd literals, which Python's own parser prints
            return ast.parse(textwrap.dedent(text).strip().rstrip("\\")).body
    except SyntaxError as error:
        raise NotKnown(f"is not Python's syntax: {error.msg}") from None


def _check(tree: ast.expr) -> None:
    known = (ast.BoolOp, ast.boolop, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Name, ast.Load, ast.Constant)
    for node in ast.walk(tree):
        if not isinstance(node, known) and type(node) not in _OPERATIONS:
            raise NotKnown(f"compares more than numbers and names: {ast.unparse(tree)}")
        if isinstance(node, ast.Constant) and not isinstance(node.value, int):
            raise NotKnown(f"is no whole number: {ast.unparse(node)}")


def _value(node: ast.expr, values: Mapping[str, int]) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return values[name]
        case ast.UnaryOp(how, operand):
            return _OPERATIONS[type(how)](_value(operand, values))
        case ast.BinOp(left, how, right):
            return _OPERATIONS[type(how)](_value(left, values), _value(right, values))
        case ast.BoolOp(how, parts):
            each = (_value(part, values) for part in parts)
            return all(each) if isinstance(how, ast.And) else any(each)
        case ast.Compare(left, how, right):
            sides = [_value(side, values) for side in (left, *right)]
            return all(_OPERATIONS[type(one)](*pair) for one, pair in zip(how, pairwise(sides), strict=True))
    raise NotKnown(ast.unparse(node))
