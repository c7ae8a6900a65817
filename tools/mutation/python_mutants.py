"""Mutants of a Python module: each changes one operator, constant or condition."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_LIMIT = re.compile(r"\b_MAX_")
_SWAPPED = {"min": "max", "max": "min", "all": "any", "any": "all", "low": "high", "high": "low",
            "floor": "ceil", "ceil": "floor", "union": "intersection"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed module."""

    line: int
    before: str  # the changed expression
    after: str
    source: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.before}  ->  {self.after}"


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants, in order of the source. Docstrings, messages and annotations are unchanged."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: dict[str, Mutant] = {}
    for node, parent in _code(tree):
        for name, value in _changes(node):
            shown = parent if isinstance(node, ast.Constant | ast.Name) else node
            before, kept = _text(shown), getattr(node, name)
            setattr(node, name, value)
            source = ast.unparse(tree)
            line = getattr(node, "lineno", 0)
            found.setdefault(source, Mutant(line, before, _text(shown), source))
            setattr(node, name, kept)
    return sorted(found.values(), key=lambda mutant: mutant.line)


def _text(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]


def _code(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """The nodes below one, with their parents, without annotations and the parts of messages."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns") or isinstance(node, ast.Raise | ast.JoinedStr):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not _changes_no_result(child):
                yield child, node
                yield from _code(child)


def _changes_no_result(node: ast.AST) -> bool:
    """Whether a node is a limit of effort (_MAX_…) or of a cache, `slots` or `frozen` of a
    dataclass, `strict` of zip(), or imports for annotations."""
    match node:
        case ast.keyword(arg="frozen" | "maxsize" | "slots" | "strict"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign() | ast.Compare() | ast.Call():
            return _LIMIT.search(ast.unparse(node)) is not None
    return False


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The changes of a node: an attribute, and another value."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield "ops", [*ops[:i], _COMPARED[type(op)](), *ops[i + 1 :]]
        case ast.BinOp(op=op, left=left) if type(op) in _COMPUTED and not _is_text(left):
            yield "op", _COMPUTED[type(op)]()
        case ast.BoolOp(op=op):
            yield "op", ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.USub()):
            yield "op", ast.UAdd()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "operand", ast.UnaryOp(ast.Not(), operand)
        case ast.Constant(value=bool() as value):
            yield "value", not value
        case ast.Constant(value=int() as value):
            yield "value", value + 1
        case ast.Name(id=name) if name in _SWAPPED:
            yield "id", _SWAPPED[name]
        case ast.Attribute(attr=name) if name in _SWAPPED:
            yield "attr", _SWAPPED[name]
        case ast.IfExp(test=test) | ast.If(test=test) if not isinstance(test, ast.Compare):
            yield "test", ast.UnaryOp(ast.Not(), test)


def _is_text(node: ast.expr) -> bool:
    is_str = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_str or isinstance(node, ast.JoinedStr)
