"""Reads a tensor as a polynomial of another, however its powers and factors are spelled."""

from __future__ import annotations

from math import isclose

from spirloom.ir import DType, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.rewrite import ADD, Matcher, scalar

MUL, DIV, SUB = "aten.mul.Tensor", "aten.div.Tensor", "aten.sub.Tensor"
SQUARE = "aten.square"
POWERS = ("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", SQUARE)
Polynomial = dict[int, float]  # exponent → factor
_MOST_NODES = 8
_GREATEST_POWER = 4


def polynomial(
    library: OpLibrary, matcher: Matcher, value: object, x: Tensor, most: int = _MOST_NODES
) -> Polynomial | None:
    """The tensor by powers of x; None if it has any other part."""
    if value is x:
        return {1: 1.0}
    known = scalar(value)
    if known is not None:
        return {0: known}
    node = matcher.producer(value, ADD, SUB, MUL, DIV, *POWERS)
    if node is None or most == 0 or not (node.op in POWERS or library.is_plain(node)):
        return None
    a = polynomial(library, matcher, node.args[0], x, most - 1)
    if a is None:
        return None
    if node.op in POWERS:
        return _power(a, exponent(node))
    b = polynomial(library, matcher, node.args[1], x, most - 1)
    return None if b is None else _joined(node, a, b)


def _joined(node: Node, a: Polynomial, b: Polynomial) -> Polynomial | None:
    match node.op:
        case "aten.add.Tensor" | "aten.sub.Tensor":
            sign = 1 if node.op == ADD else -1
            return {e: a.get(e, 0.0) + sign * b.get(e, 0.0) for e in {*a, *b}}
        case "aten.mul.Tensor":
            return _product(a, b)
    return {e: f / b[0] for e, f in a.items()} if set(b) == {0} and b[0] != 0 else None


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    result: Polynomial = {}
    for e, f in a.items():
        for d, g in b.items():
            result[e + d] = result.get(e + d, 0.0) + f * g
    return result


def exponent(node: Node) -> float | None:
    """The known exponent of one of POWERS."""
    if node.op == SQUARE:
        return 2.0
    value = node.args[1]
    return float(value) if isinstance(value, int | float) else scalar(value)


def _power(a: Polynomial, times: float | None) -> Polynomial | None:
    if times is None or times not in range(1, _GREATEST_POWER + 1):
        return None
    result = a
    for _ in range(int(times) - 1):
        result = _product(result, a)
    return result


def is_polynomial(found: Polynomial | None, wanted: Polynomial, dtype: DType) -> bool:
    """Whether the factors are these, as closely as constants of the type tell."""
    if found is None or set(found) != set(wanted):
        return False
    closely = 1e-3 if dtype is DType.F16 else 1e-6
    return all(isclose(found[e], wanted[e], rel_tol=closely) for e in wanted)
