"""Recognises x / √(mean(x²) + eps), in any spelling: what normalisations have in common."""

from __future__ import annotations

from dataclasses import dataclass

from spirloom.ir import Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.polynomial import DIV, MUL, POWERS, exponent
from spirloom.passes.rewrite import ADD, Matcher, is_scalar, split_scalar


@dataclass(frozen=True, slots=True)
class Normalized:
    """What is divided, the sizes of the last dims that the mean runs over, and its first node."""

    x: Tensor
    sizes: tuple[int, ...]
    eps: float
    first: Node


def normalized(library: OpLibrary, matcher: Matcher, node: Node) -> Normalized | None:
    """What a node divides by the root of the mean of its square."""
    for x, total in _quotients(matcher, node):
        plus = matcher.producer(total, ADD)
        found = split_scalar(plus) if plus is not None and library.is_plain(plus) else None
        mean = matcher.producer(found[0], "aten.mean.dim") if found is not None else None
        if found is None or mean is None or x.shape != node.outputs[0].shape:
            continue
        square = matcher.producer(mean.args[0])
        first = (
            None
            if square is None or not _is_square(matcher, square, x)
            else trailing(library, mean, x)
        )
        if square is not None and first is not None:
            return Normalized(x, x.shape[first:], found[1], square)
    return None


def trailing(library: OpLibrary, mean: Node, x: Tensor) -> int | None:
    """The first of the dims a mean runs over, if these are the last ones, kept."""
    dims, keep = library.arg(mean, "dim"), library.arg(mean, "keepdim")
    rank = len(x.shape)
    if not isinstance(dims, tuple) or not keep:
        return None
    wrapped = sorted(int(d) % rank for d in dims if isinstance(d, int))
    return wrapped[0] if wrapped == list(range(rank - len(wrapped), rank)) else None


def _quotients(matcher: Matcher, node: Node) -> list[tuple[Tensor, Tensor]]:
    """(x, s) wherever a node is x / √s, or x · 1/√s."""
    pairs: list[tuple[object, Tensor | None]] = []
    if node.op == DIV:
        pairs = [(node.args[0], _rooted(matcher, node.args[1]))]
    elif node.op == MUL:
        both = (node.args[:2], node.args[1::-1])
        pairs = [(x, _inverse_rooted(matcher, other)) for x, other in both]
    return [(x, s) for x, s in pairs if isinstance(x, Tensor) and s is not None]


def _rooted(matcher: Matcher, value: object) -> Tensor | None:
    """s of √s"""
    root = matcher.producer(value, "aten.sqrt", *POWERS)
    if root is None or (root.op in POWERS and exponent(root) != 0.5):
        return None
    return root.args[0] if isinstance(root.args[0], Tensor) else None


def _inverse_rooted(matcher: Matcher, value: object) -> Tensor | None:
    """s of 1 / √s"""
    node = matcher.producer(value, "aten.rsqrt", "aten.reciprocal", DIV, *POWERS)
    if node is None:
        return None
    if node.op == DIV:
        return _rooted(matcher, node.args[1]) if is_scalar(node.args[0], 1.0) else None
    x = node.args[0]
    if node.op == "aten.reciprocal":
        return _rooted(matcher, x)
    inverse = node.op == "aten.rsqrt" or exponent(node) == -0.5
    return x if inverse and isinstance(x, Tensor) else None


def _is_square(matcher: Matcher, node: Node, x: Tensor) -> bool:
    """Whether a node is x², in any spelling."""
    if not matcher.same(node.args[0], x):
        return False
    return (
        node.args[1] is node.args[0]
        if node.op == MUL
        else node.op in POWERS and exponent(node) == 2.0
    )
