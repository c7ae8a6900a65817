"""The representation of an exported program, common to archives and programs in process.

Value names are those of torch.export's nodes. Symbolic sizes are expressions in sympy's srepr."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod
from typing import Union

from spec_model.interval import Interval
from spec_model.symbolic import maximum, minimum
from spirloom.errors import ImportFailure
from spirloom.ir import Array

MAX_TEXT = 10_000
MAX_EXPONENT = 16


class InvalidSize(Exception):
    """A size expression that cannot be parsed or evaluated; the message quotes it."""


@dataclass(frozen=True, slots=True)
class SizeExpr:
    """A symbolic size, e.g. Mul(Integer(2), Symbol('s77', integer=True))."""

    text: str

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value for these sizes of the symbols, which may be symbolic. Raises InvalidSize."""
        return _value(_parsed(self.text), sizes, self.text)

    def symbols(self) -> set[str]:
        """The names of its symbols. Raises InvalidSize."""
        calls = [n for n in ast.walk(_parsed(self.text)) if isinstance(n, ast.Call)]
        return {_symbol(call) for call in calls if _name(call) == "Symbol"}

    def symbol(self) -> str | None:
        """The symbol's name if the expression is a single symbol, otherwise None."""
        tree = _parsed(self.text)
        is_symbol = isinstance(tree, ast.Call) and _name(tree) == "Symbol"
        return _symbol(tree) if is_symbol and isinstance(tree, ast.Call) else None


def is_linear(size: SizeExpr, symbol: str) -> bool:
    """Whether a size is factor * symbol + offset, with factor >= 1 and no other symbols."""
    if size.symbols() != {symbol}:
        return False
    try:
        first, *values = (size.value({symbol: at}) for at in (2, 3, 4, 7, 12, 31))
    except InvalidSize:
        return False
    factor = values[0] - first
    return factor >= 1 and values == [first + factor * (at - 2) for at in (3, 4, 7, 12, 31)]


def _parsed(text: str) -> ast.expr:
    try:
        if len(text) > MAX_TEXT:
            raise ValueError
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidSize(f"the size expression '{text[:100]}' is not supported") from error


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
    raise InvalidSize(f"the size expression '{text[:100]}' is not supported")


def _applied(name: str, values: list[int], text: str) -> int:
    match name, values:
        case "Integer", [value]:
            return value
        case "Add", [_, *_]:
            return sum(values)
        case "Mul", [_, *_]:
            return prod(values)
        case "Max", [_, *_]:
            return maximum(*values)
        case "Min", [_, *_]:
            return minimum(*values)
        case "Pow", [base, exponent] if 0 <= exponent <= MAX_EXPONENT:
            return prod([base] * exponent)
        case (("FloorDiv" | "CleanDiv" | "IntTrueDiv"), [a, b]) if b > 0:
            return a // b
        case "CeilDiv", [a, b] if b > 0:
            return -(-a // b)
        case (("Mod" | "PythonMod"), [a, b]) if b > 0:
            return a % b
    raise InvalidSize(f"the size expression '{text[:100]}' is not supported")


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a value by name."""

    name: str


@dataclass(frozen=True, slots=True)
class TypeName:
    """One of torch's element types, e.g. float32."""

    name: str


@dataclass(frozen=True, slots=True)
class IgnoredValue:
    """A value that rules ignore: a device, a layout, a memory format, the name of an operator."""

    text: str


PlainValue = Union[Ref, TypeName, IgnoredValue, "Branch", int, float, bool, str, None]
ArgValue = PlainValue | tuple[PlainValue, ...]
# One result of a call: a value, a list of values, or None if unused.
Result = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call, by its name in the operator's schema."""

    name: str
    value: ArgValue
    keyword: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the operator `target`, e.g. aten.add.Tensor, aten.relu or operator.mul."""

    target: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    module: str = ""  # path of the calling module, e.g. layers.0.attention
    trace: str = ""  # stack trace in the user's source


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """The type of a tensor, and its layout in PyTorch's memory, in elements."""

    dtype: str
    shape: tuple[int | SizeExpr, ...]
    strides: tuple[int | SizeExpr, ...]
    storage_offset: int | SizeExpr = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """A subgraph that is an argument of a call: a branch of torch.cond."""

    inputs: tuple[str, ...]
    outputs: tuple[ArgValue, ...]
    calls: tuple[Call, ...]
    metas: Mapping[str, TensorMeta]


class Kind(StrEnum):
    """The kind of a program's input."""

    USER = "user input"
    INT = "integer input"  # a symbolic int, with its size as `fixed`
    WEIGHT = "weight"  # a parameter, a buffer or a constant
    OTHER = "other"  # unsupported as a graph input


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a program. `target`: the name of a weight in `Program.weights`."""

    name: str
    kind: Kind
    target: str = ""
    fixed: ArgValue | SizeExpr = None  # the value of an input that is not a tensor


@dataclass(frozen=True, slots=True)
class Range:
    """The bounds of a symbol; None: no bound."""

    min: int | None
    max: int | None

    @staticmethod
    def of(low: int | None, high: int | None) -> Range:
        """Torch's bounds; those beyond _NO_BOUND represent infinity."""
        low, high = (None if b is None or abs(b) >= _NO_BOUND else b for b in (low, high))
        return Range(low, high)


_NO_BOUND = 1 << 60


@dataclass(frozen=True, slots=True)
class Program:
    """An exported program.

    `mutated`: the buffers and inputs that it writes. `updates`: the new values of buffers, by their
    names in `weights`. `kept`: buffers that it does not change, but other programs of the file do.
    `ranges`: bounds of the values of inputs. `where` names the program in messages; `version` is
    that of torch. `saved`: it is an archive.
    """

    where: str
    inputs: tuple[Input, ...]
    outputs: tuple[ArgValue, ...]
    calls: tuple[Call, ...]
    metas: Mapping[str, TensorMeta]
    symbols: Mapping[str, Range] = field(default_factory=dict)
    weights: Mapping[str, Array] = field(default_factory=dict)
    mutated: tuple[str, ...] = ()
    updates: Mapping[str, Ref] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    version: str = ""
    saved: bool = False

    def symbols_of(self, names: Iterable[str]) -> set[str]:
        """The symbols in the shapes of these values."""
        sizes = [size for name in names if name in self.metas for size in self.metas[name].shape]
        return {symbol for s in sizes if isinstance(s, SizeExpr) for symbol in s.symbols()}


@dataclass(frozen=True, slots=True)
class OutputSpec:
    """An output in a program's signature. `kind`: torch's OutputKind in lower case. `target`: the
    buffer or input that the output replaces."""

    kind: str
    value: ArgValue
    target: str = ""


BUFFER_MUTATION = "buffer_mutation"
MUTATIONS = (BUFFER_MUTATION, "user_input_mutation", "parameter_mutation")


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of a program, as in Program."""

    outputs: tuple[ArgValue, ...]
    mutated: tuple[str, ...]
    updates: Mapping[str, Ref]

    @staticmethod
    def of(specs: Iterable[OutputSpec], where: str) -> Outputs:
        """Splits the outputs of a signature by kind. Raises ImportFailure."""
        outputs: list[ArgValue] = []
        mutated: list[str] = []
        updates: dict[str, Ref] = {}
        for i, spec in enumerate(specs):
            if spec.kind == "user_output":
                outputs.append(spec.value)
            elif spec.kind in MUTATIONS:
                mutated.append(spec.target)
                if spec.kind == BUFFER_MUTATION and isinstance(spec.value, Ref):
                    updates[spec.target] = spec.value
            elif spec.kind != "token":
                raise ImportFailure(f"{where}: output {i} has the unsupported kind '{spec.kind}'.")
        return Outputs(tuple(outputs), tuple(mutated), updates)


def release(version: str) -> str:
    """A version without its local part, e.g. 2.9.0 for 2.9.0+cpu."""
    return version.partition("+")[0]


def result_names(call: Call) -> list[str]:
    """The name of each result, with lists flattened; "" for unused results."""
    found: list[str] = []
    for result in call.results:
        found += list(result) if isinstance(result, tuple) else [result or ""]
    return found


def output_names(call: Call) -> list[str]:
    """The names of the values that a call writes."""
    return [name for name in result_names(call) if name]


def node_name(call: Call, modules: Sequence[str]) -> str:
    """The name of the nodes of a call: its module's path, with the call's own name if `modules`,
    the paths of all calls, has the path more than once."""
    own = next(iter(output_names(call)), call.target)
    if not call.module:
        return own
    return call.module if modules.count(call.module) == 1 else f"{call.module}/{own}"
