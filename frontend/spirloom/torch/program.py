"""An exported program, read from an archive or from torch in this process.

Value names are those of torch.export's nodes. Sizes that depend on symbols are expressions
parsed from sympy's srepr."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod

from spirloom.ir import Array

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


@dataclass(frozen=True, slots=True)
class Ref:
    """A value by name."""

    name: str


@dataclass(frozen=True, slots=True)
class TypeName:
    """One of torch's element types, e.g. float32."""

    name: str


@dataclass(frozen=True, slots=True)
class Word:
    """A value of no meaning here: a device, a layout, a memory format."""

    text: str


Plain = Ref | TypeName | Word | int | float | bool | str | None
Given = Plain | tuple[Plain, ...]
# What a call gives in one place: a value, a list of values, or nothing that is used.
Result = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, under the name that the operator's schema gives it."""

    name: str
    value: Given
    keyword: bool


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator: `target` is e.g. aten.add.Tensor, aten.relu or operator.mul."""

    target: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    module: str = ""  # the path of the module that makes it, e.g. layers.0.attention
    trace: str = ""  # where in the user's source


@dataclass(frozen=True, slots=True)
class Meta:
    """The type of a value, and how it lies in PyTorch's memory, in elements."""

    dtype: str
    shape: tuple[int | SizeOf, ...]
    strides: tuple[int | SizeOf, ...]
    start: int | SizeOf = 0


class Kind(StrEnum):
    """What an input of a program is."""

    USER = "user input"
    WEIGHT = "weight"  # a parameter, a buffer or a constant
    OTHER = "other"  # what no graph can take


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a program. Of a weight, `target` is its name in `Program.weights`."""

    name: str
    kind: Kind
    target: str = ""
    fixed: Given | SizeOf = None  # of a user input that is no tensor, its value


@dataclass(frozen=True, slots=True)
class Range:
    """Between which sizes a symbol lies; None: the program sets no bound."""

    least: int | None
    greatest: int | None


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program.

    `mutated` has what it writes beside its outputs: buffers and inputs; `updates`, of buffers by
    their names in `weights`, what they become. `kept` are buffers that it leaves alone, and other
    programs of the same file change.
    """

    where: str
    inputs: tuple[Input, ...]
    outputs: tuple[Given, ...]
    calls: tuple[Call, ...]
    metas: Mapping[str, Meta]
    symbols: Mapping[str, Range] = field(default_factory=dict)
    weights: Mapping[str, Array] = field(default_factory=dict)
    mutated: tuple[str, ...] = ()
    updates: Mapping[str, Ref] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    version: str = ""

    def symbols_of(self, names: Iterable[str]) -> set[str]:
        """The symbols of the shapes of values."""
        sizes = [size for name in names if name in self.metas for size in self.metas[name].shape]
        return {symbol for s in sizes if isinstance(s, SizeOf) for symbol in s.symbols()}


def flat_names(call: Call) -> list[str]:
    """The name of each result, those of lists one by one; "" of what nobody reads."""
    found: list[str] = []
    for result in call.results:
        found += list(result) if isinstance(result, tuple) else [result or ""]
    return found


def names_of(call: Call) -> list[str]:
    """The names of what a call gives."""
    return [name for name in flat_names(call) if name]


def node_name(call: Call, modules: Sequence[str]) -> str:
    """Of the nodes of a call: its module's path, and its own name where `modules`, which has those
    of all calls, tells of others."""
    own = next(iter(names_of(call)), call.target)
    if not call.module:
        return own
    return call.module if modules.count(call.module) == 1 else f"{call.module}/{own}"
