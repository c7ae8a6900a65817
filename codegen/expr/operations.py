"""The operations of the language: for each name and operand types, its meaning and its C++ form."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from codegen.expr import semantics
from codegen.expr.types import INT64_MAX, Expr, Kind, Literal, Operation

INT, FLOAT, BOOL, INTS = Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.INTS
_KINDS = {"int": INT, "float": FLOAT, "bool": BOOL, "ints": INTS, "tensor": Kind.TENSOR}
_KINDS |= {"tensors": Kind.TENSORS, "str": Kind.STR}


@dataclass(frozen=True, slots=True)
class Signature:
    """One form of a function: operand kinds and the result's."""

    parameters: tuple[Kind, ...]
    result: Kind
    operation: Operation


def _form(text: str, evaluate: object, cpp: str) -> Signature:
    parameters, result = text.split("->")
    kinds = tuple(_KINDS[word] for word in parameters.split())
    return Signature(kinds, _KINDS[result.strip()], Operation(evaluate, cpp))  # type: ignore[arg-type]


def _size(cpp: str) -> str:
    return f"static_cast<int64_t>({cpp}.size())"


FUNCTIONS: dict[str, tuple[Signature, ...]] = {
    "len": (
        _form("ints -> int", len, _size("{}")),
        _form("tensors -> int", len, _size("{}")),
    ),
    "prod": (_form("ints -> int", semantics.prod, "eval.Prod({})"),),
    "sum": (_form("ints -> int", semantics.total, "eval.Sum({})"),),
    "abs": (
        _form("int -> int", semantics.abs_int, "eval.Abs({})"),
        _form("float -> float", abs, "std::fabs({})"),
    ),
    "ceil_div": (_form("int int -> int", semantics.ceil_div, "eval.CeilDiv({}, {})"),),
    "round_up": (_form("int int -> int", semantics.round_up, "eval.RoundUp({}, {})"),),
    "int": (
        _form("bool -> int", int, "int64_t{{{}}}"),
        _form("int -> int", int, "{}"),
        _form("float -> int", semantics.to_int, "eval.ToInt({})"),
    ),
    "float": (
        _form("float -> float", float, "{}"),
        _form("int -> float", float, "static_cast<double>({})"),
    ),
    "range": (_form("int -> ints", semantics.range_of, "eval.Range({})"),),
    "fill": (_form("int int -> ints", semantics.fill, "eval.Fill({}, {})"),),
    "numel": (_form("tensor -> int", lambda x: semantics.prod(x.shape), "eval.Prod({}.shape)"),),
    "wrap": (_form("int int -> int", semantics.wrap, "eval.Wrap({}, {})"),),
    "wrap_all": (_form("ints int -> ints", semantics.wrap_all, "eval.WrapAll({}, {})"),),
    "broadcast": (_form("ints ints -> ints", semantics.broadcast, "eval.Broadcast({}, {})"),),
    "strides": (_form("ints -> ints", semantics.strides, "eval.Strides({})"),),
    "broadcast_strides": (
        _form("ints ints -> ints", semantics.broadcast_strides, "eval.BroadcastStrides({}, {})"),
    ),
    "pad_left": (_form("ints int int -> ints", semantics.pad_left, "eval.PadLeft({}, {}, {})"),),
    "pad_right": (_form("ints int int -> ints", semantics.pad_right, "eval.PadRight({}, {}, {})"),),
    "replace": (_form("ints int int -> ints", semantics.replace, "eval.Replace({}, {}, {})"),),
    "insert": (_form("ints int int -> ints", semantics.insert, "eval.Insert({}, {}, {})"),),
    "remove": (_form("ints ints -> ints", semantics.remove, "eval.Remove({}, {})"),),
    "sum_dims": (_form("tensors int int -> int", semantics.sum_dims, "eval.SumDims({}, {}, {})"),),
    "alike": (_form("tensors int -> bool", semantics.alike, "eval.Alike({}, {})"),),
    "present": (_form("tensor -> bool", lambda x: x.present, "{}.present"),),
    "nchw": (
        _form("ints -> ints", lambda v: semantics.pad_left(v, 4, 1), "eval.PadLeft({}, 4, 1)"),
    ),
    "min": (_form("ints -> int", semantics.least, "eval.Min({})"),),
    "max": (_form("ints -> int", semantics.greatest, "eval.Max({})"),),
}

# `min(a, b, …)` and `max(a, b, …)`, folded from the left.
VARIADIC: dict[str, dict[Kind, Operation]] = {
    "min": {
        INT: Operation(min, "std::min<int64_t>({}, {})"),
        FLOAT: Operation(semantics.smaller, "std::min<double>({}, {})"),
    },
    "max": {
        INT: Operation(max, "std::max<int64_t>({}, {})"),
        FLOAT: Operation(semantics.larger, "std::max<double>({}, {})"),
    },
}

# Operator symbol → operand kind → (result, operation). Both operands have that kind.
BINARY: dict[str, dict[Kind, tuple[Kind, Operation]]] = {
    "+": {
        INT: (INT, Operation(semantics.add, "eval.Add({}, {})")),
        FLOAT: (FLOAT, Operation(operator.add, "{} + {}", atomic=False)),
        INTS: (INTS, Operation(semantics.concat, "eval.Concat({}, {})")),
    },
    "-": {
        INT: (INT, Operation(semantics.sub, "eval.Sub({}, {})")),
        FLOAT: (FLOAT, Operation(operator.sub, "{} - {}", atomic=False)),
    },
    "*": {
        INT: (INT, Operation(semantics.mul, "eval.Mul({}, {})")),
        FLOAT: (FLOAT, Operation(operator.mul, "{} * {}", atomic=False)),
    },
    "/": {FLOAT: (FLOAT, Operation(semantics.float_div, "{} / {}", atomic=False))},
    "//": {INT: (INT, Operation(semantics.floor_div, "eval.FloorDiv({}, {})"))},
    "%": {INT: (INT, Operation(semantics.mod, "eval.Mod({}, {})"))},
}

NEGATE = {
    INT: Operation(semantics.neg, "eval.Neg({})"),
    FLOAT: Operation(operator.neg, "-{}", atomic=False),
}
NOT = Operation(operator.not_, "!{}", atomic=False)
TO_FLOAT = Operation(float, "static_cast<double>({})")
TO_DTYPE = Operation(semantics.to_dtype, "eval.ToDType({})")

_EQUALITY: frozenset[Kind] = frozenset(
    kind for kind in Kind if kind not in (Kind.TENSOR, Kind.TENSORS)
)
_ORDER: frozenset[Kind] = frozenset({INT, FLOAT})
COMPARISONS: dict[str, tuple[frozenset[Kind], Operation]] = {
    "==": (_EQUALITY, Operation(operator.eq, "{} == {}", atomic=False)),
    "!=": (_EQUALITY, Operation(operator.ne, "{} != {}", atomic=False)),
    "<": (_ORDER, Operation(operator.lt, "{} < {}", atomic=False)),
    "<=": (_ORDER, Operation(operator.le, "{} <= {}", atomic=False)),
    ">": (_ORDER, Operation(operator.gt, "{} > {}", atomic=False)),
    ">=": (_ORDER, Operation(operator.ge, "{} >= {}", atomic=False)),
}
CONTAINS = Operation(semantics.contains, "eval.Contains({1}, {0})")

INDEX_INTS = Operation(semantics.index, "eval.Index({}, {})")
INDEX_TENSORS = Operation(semantics.at, "eval.At({}, {})")
SLICE = Operation(semantics.slice_of, "eval.Slice({}, {}, {})")

ATTRIBUTES: dict[str, tuple[Kind, Operation]] = {
    "shape": (INTS, Operation(operator.attrgetter("shape"), "{}.shape")),
    "rank": (INT, Operation(lambda x: len(x.shape), _size("{}.shape"))),
    "dtype": (Kind.DTYPE, Operation(operator.attrgetter("dtype"), "{}.dtype")),
    "storage": (Kind.STORAGE, Operation(operator.attrgetter("storage"), "{}.storage")),
}


def result_length(function: str, operands: tuple[Expr, ...]) -> int | None:
    """The length of a function's list, where the text tells it."""
    literals = [x.value if isinstance(x, Literal) else None for x in operands]
    match function:
        case "nchw":
            length: object = 4
        case "pad_left" | "pad_right":
            length = literals[1]
        case "fill" | "range":
            length = literals[0]
        case "replace":
            length = operands[0].length
        case "insert":
            length = None if operands[0].length is None else operands[0].length + 1
        case "broadcast_strides":
            length = operands[1].length
        case "strides" | "wrap_all":
            length = operands[0].length
        case _:
            length = None
    return length if isinstance(length, int) and length <= INT64_MAX else None
