"""The C++ of a typed tree, for code with an `ops::Eval& eval` in scope."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

from codegen.expr.types import (
    INT64_MIN,
    Apply,
    Comprehension,
    Conditional,
    Expr,
    Kind,
    ListOf,
    Literal,
    Logic,
    Value,
    Variable,
)
from codegen.vocabulary import DType, Storage

CPP_TYPES = {
    Kind.INT: "int64_t",
    Kind.FLOAT: "double",
    Kind.BOOL: "bool",
    Kind.STR: "std::string_view",
    Kind.DTYPE: "DType",
    Kind.STORAGE: "Storage",
    Kind.INTS: "Ints",
    Kind.TENSOR: "TensorDesc&",
}

Namer = Callable[[Variable], str]


def emit(expression: Expr, name: Namer) -> str:
    """The expression in C++; `name` gives the C++ names of variables."""
    return _Emitter(name).emit(expression)


def quoted(text: str) -> str:
    """A C++ string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + escaped.replace("??", "?\\?") + '"'


def dtype_name(dtype: DType) -> str:
    """E.g. `DType::kF32`."""
    return f"DType::k{dtype.upper()}"


def storage_name(storage: Storage) -> str:
    """E.g. `Storage::kBuffer`."""
    return "Storage::kBuffer" if storage is Storage.BUFFER else "Storage::kTexture3D"


class _Emitter:
    def __init__(self, name: Namer) -> None:
        self._name = name
        self._numbers = count(1)

    def emit(self, node: Expr) -> str:
        match node:
            case Literal():
                return literal(node.kind, node.value)
            case Variable():
                return self._name(node)
            case Apply():
                return node.operation.cpp.format(*self._operands(node))
            case ListOf():
                return "Ints{" + ", ".join(map(self.emit, node.operands)) + "}"
            case Logic():
                symbol = "&&" if node.is_and else "||"
                return f"{self._operand(node.left)} {symbol} {self._operand(node.right)}"
            case Conditional():
                parts = map(self._operand, (node.condition, node.then, node.otherwise))
                return "{} ? {} : {}".format(*parts)
            case Comprehension():
                return self._comprehension(node)

    def _operands(self, node: Apply) -> list[str]:
        """Operands stand in parentheses unless commas or calls delimit them."""
        calls = node.operation.cpp.endswith(")") and "{}." not in node.operation.cpp
        return [self.emit(x) if calls else self._operand(x) for x in node.operands]

    def _operand(self, node: Expr) -> str:
        text = self.emit(node)
        atomic = isinstance(node, Variable | ListOf | Comprehension) or (
            isinstance(node, Apply) and node.operation.atomic
        )
        if isinstance(node, Literal):
            atomic = not text.startswith("-")
        return text if atomic else f"({text})"

    def _comprehension(self, node: Comprehension) -> str:
        result = f"result_{next(self._numbers)}"
        iterable, element = self.emit(node.iterable), self.emit(node.element)
        append = f"eval.Append({result}, {element});"
        if node.condition is not None:
            append = f"if ({self.emit(node.condition)}) {append}"
        variable = f"[[maybe_unused]] const int64_t {self._name(node.variable)}"
        loop = f"for ({variable} : {iterable}) {{ {append} }}"
        return f"[&] {{ Ints {result}; {loop} return {result}; }}()"


def literal(kind: Kind, value: Value) -> str:
    """A C++ literal."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return "(-9223372036854775807 - 1)" if value == INT64_MIN else str(value)
        case float():
            return _float(value)
        case DType():
            return dtype_name(value)
        case Storage():
            return storage_name(value)
        case str():
            return f"std::string_view({quoted(value)})"
        case tuple():
            return "Ints{" + ", ".join(literal(Kind.INT, v) for v in value) + "}"
    raise AssertionError(kind)


def _float(value: float) -> str:
    if math.isnan(value):
        return "std::numeric_limits<double>::quiet_NaN()"
    if math.isinf(value):
        return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
    return repr(value)
