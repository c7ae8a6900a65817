"""The operations of the language: implementation and opcode by name and operand kinds."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from spec_model.expr import semantics
from spec_model.expr.types import INT64_MAX, Expr, Kind, Literal, Operation

INT, FLOAT, BOOL, INTS = Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.INTS
_KINDS = {"int": INT, "float": FLOAT, "bool": BOOL, "ints": INTS, "tensor": Kind.TENSOR}
_KINDS |= {"tensors": Kind.TENSORS, "str": Kind.STR}


@dataclass(frozen=True, slots=True)
class Signature:
    """One overload of a function: the kinds of operands and result."""

    parameters: tuple[Kind, ...]
    result: Kind
    operation: Operation


def _overload(text: str, evaluate: object, code: str, *more: int) -> Signature:
    parameters, result = text.split("->")
    kinds = tuple(_KINDS[word] for word in parameters.split())
    operation = Operation(evaluate, code, more)  # type: ignore[arg-type]
    return Signature(kinds, _KINDS[result.strip()], operation)


FUNCTIONS: dict[str, tuple[Signature, ...]] = {
    "len": (
        _overload("ints -> int", len, "len"),
        _overload("tensors -> int", len, "count"),
    ),
    "prod": (_overload("ints -> int", semantics.prod, "prod"),),
    "sum": (_overload("ints -> int", semantics.total, "sum"),),
    "abs": (
        _overload("int -> int", semantics.abs_int, "abs"),
        _overload("float -> float", abs, "abs_f"),
    ),
    "ceil_div": (_overload("int int -> int", semantics.ceil_div, "ceil_div"),),
    "round_up": (_overload("int int -> int", semantics.round_up, "round_up"),),
    "int": (
        _overload("bool -> int", int, ""),
        _overload("int -> int", int, ""),
        _overload("float -> int", semantics.to_int, "to_int"),
    ),
    "float": (
        _overload("float -> float", float, ""),
        _overload("int -> float", float, "to_float"),
    ),
    "float_bits": (_overload("float -> int", semantics.float_bits, "float_bits"),),
    "range": (_overload("int -> ints", semantics.range_of, "range"),),
    "fill": (_overload("int int -> ints", semantics.fill, "fill"),),
    "numel": (_overload("tensor -> int", lambda x: semantics.prod(x.shape), "numel"),),
    "wrap": (_overload("int int -> int", semantics.wrap, "wrap"),),
    "wrap_all": (_overload("ints int -> ints", semantics.wrap_all, "wrap_all"),),
    "broadcast": (_overload("ints ints -> ints", semantics.broadcast, "broadcast"),),
    "strides": (_overload("ints -> ints", semantics.strides, "strides"),),
    "broadcast_strides": (
        _overload("ints ints -> ints", semantics.broadcast_strides, "broadcast_strides"),
    ),
    "pad_left": (_overload("ints int int -> ints", semantics.pad_left, "pad_left"),),
    "pad_right": (_overload("ints int int -> ints", semantics.pad_right, "pad_right"),),
    "replace": (_overload("ints int int -> ints", semantics.replace, "replace"),),
    "insert": (_overload("ints int int -> ints", semantics.insert, "insert"),),
    "remove": (_overload("ints ints -> ints", semantics.remove, "remove"),),
    "sum_dims": (_overload("tensors int int -> int", semantics.sum_dims, "sum_dims"),),
    "alike": (_overload("tensors int -> bool", semantics.alike, "alike"),),
    "present": (_overload("tensor -> bool", lambda x: x.present, "present"),),
    "nchw": (_overload("ints -> ints", lambda v: semantics.pad_left(v, 4, 1), "pad_left", 4, 1),),
    "min": (_overload("ints -> int", semantics.min_of, "min_of"),),
    "max": (_overload("ints -> int", semantics.max_of, "max_of"),),
}

# `min(a, b, …)` and `max(a, b, …)`, folded from the left.
VARIADIC: dict[str, dict[Kind, Operation]] = {
    "min": {
        INT: Operation(semantics.smallest, "min"),
        FLOAT: Operation(semantics.smaller, "min_f"),
    },
    "max": {
        INT: Operation(semantics.largest, "max"),
        FLOAT: Operation(semantics.larger, "max_f"),
    },
}

# Operator symbol → operand kind → (result, operation). Both operands have that kind.
BINARY: dict[str, dict[Kind, tuple[Kind, Operation]]] = {
    "+": {
        INT: (INT, Operation(semantics.add, "add")),
        FLOAT: (FLOAT, Operation(operator.add, "add_f")),
        INTS: (INTS, Operation(semantics.concat, "concat")),
    },
    "-": {
        INT: (INT, Operation(semantics.sub, "sub")),
        FLOAT: (FLOAT, Operation(operator.sub, "sub_f")),
    },
    "*": {
        INT: (INT, Operation(semantics.mul, "mul")),
        FLOAT: (FLOAT, Operation(operator.mul, "mul_f")),
    },
    "/": {FLOAT: (FLOAT, Operation(semantics.float_div, "div_f"))},
    "//": {INT: (INT, Operation(semantics.floor_div, "floor_div"))},
    "%": {INT: (INT, Operation(semantics.mod, "mod"))},
}

NEGATE = {
    INT: Operation(semantics.neg, "neg"),
    FLOAT: Operation(operator.neg, "neg_f"),
}
NOT = Operation(operator.not_, "not")
TO_FLOAT = Operation(float, "to_float")
TO_INT = Operation(semantics.to_int, "to_int")
TO_DTYPE = Operation(semantics.to_dtype, "to_dtype")

_EQUALITY: frozenset[Kind] = frozenset(
    kind for kind in Kind if kind not in (Kind.TENSOR, Kind.TENSORS)
)
_ORDER: frozenset[Kind] = frozenset({INT, FLOAT})
COMPARISONS: dict[str, tuple[frozenset[Kind], Operation]] = {
    "==": (_EQUALITY, Operation(operator.eq, "eq")),
    "!=": (_EQUALITY, Operation(operator.ne, "ne")),
    "<": (_ORDER, Operation(operator.lt, "lt")),
    "<=": (_ORDER, Operation(operator.le, "le")),
    ">": (_ORDER, Operation(operator.gt, "gt")),
    ">=": (_ORDER, Operation(operator.ge, "ge")),
}
CONTAINS = Operation(semantics.contains, "contains")

INDEX_INTS = Operation(semantics.index, "index")
INDEX_TENSORS = Operation(semantics.at, "at")
SLICE = Operation(semantics.slice_of, "slice")

ATTRIBUTES: dict[str, tuple[Kind, Operation]] = {
    "shape": (INTS, Operation(operator.attrgetter("shape"), "shape")),
    "rank": (INT, Operation(lambda x: len(x.shape), "rank")),
    "dtype": (Kind.DTYPE, Operation(operator.attrgetter("dtype"), "dtype")),
    "storage": (Kind.STORAGE, Operation(operator.attrgetter("storage"), "storage")),
}


def result_length(function: str, operands: tuple[Expr, ...]) -> int | None:
    """The length of a function's list, if it follows from the text."""
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
