"""Sizes that depend on symbols, as torch writes them down: sympy's srepr."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

MAX_TEXT = 10_000
MAX_EXPONENT = 16


class BadSize(Exception):
    """An expression that is not understood; the message quotes it."""


@dataclass(frozen=True, slots=True)
class SizeOf:
    """An expression of symbols, e.g. Mul(Integer(2), Symbol('s77', integer=True))."""

    text: str

    def value(self, sizes: Mapping[str, int]) -> int:
        """What it is for these sizes. Raises BadSize."""
        return _value(_parsed(self.text), sizes, self.text)

    def symbols(self) -> set[str]:
        """The names in it. Raises BadSize."""
        calls = [n for n in ast.walk(_parsed(self.text)) if isinstance(n, ast.Call)]
        return {_symbol(call) for call in calls if _name(call) == "Symbol"}

    def symbol(self) -> str | None:
        """The symbol that it is; None of other expressions."""
        tree = _parsed(self.text)
        is_symbol = isinstance(tree, ast.Call) and _name(tree) == "Symbol"
        return _symbol(tree) if is_symbol and isinstance(tree, ast.Call) else None


def _parsed(text: str) -> ast.expr:
    try:
        if len(text) > MAX_TEXT:
            raise ValueError
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadSize(f"the size '{text[:100]}' is not understood") from error


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _symbol(call: ast.Call) -> str:
    first = call.args[0] if call.args else None
    return str(first.value) if isinstance(first, ast.Constant) else ""


def _value(node: ast.expr, sizes: Mapping[str, int], text: str) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, sizes, text)
    if isinstance(node, ast.Call):
        if _name(node) == "Symbol" and _symbol(node) in sizes:
            return sizes[_symbol(node)]
        if _name(node) != "Symbol":
            return _applied(_name(node), [_value(arg, sizes, text) for arg in node.args], text)
    raise BadSize(f"the size '{text[:100]}' is not understood")


def _applied(name: str, values: list[int], text: str) -> int:
    match name, values:
        case "Integer", [value]:
            return value
        case "Add", [_, *_]:
            return sum(values)
        case "Mul", [_, *_]:
            return prod(values)
        case "Max", [_, *_]:
            return max(values)
        case "Min", [_, *_]:
            return min(values)
        case "Pow", [base, exponent] if 0 <= exponent <= MAX_EXPONENT:
            return int(base**exponent)
        case (("FloorDiv" | "CleanDiv" | "IntTrueDiv"), [a, b]) if b > 0:
            return a // b
        case "CeilDiv", [a, b] if b > 0:
            return -(-a // b)
        case (("Mod" | "PythonMod"), [a, b]) if b > 0:
            return a % b
    raise BadSize(f"the size '{text[:100]}' is not understood")
