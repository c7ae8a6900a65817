"""Recognizes decomposed layer normalization and RMS normalization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import (
    ADD,
    COPY,
    DIV,
    MUL,
    POWERS,
    Matcher,
    exponent,
    fused_name,
    is_scalar,
    split_scalar,
)


@dataclass(frozen=True, slots=True)
class Normalized:
    """The dividend, the sizes of the last dimensions that the mean reduces, and the first node."""

    x: Tensor
    sizes: tuple[int, ...]
    eps: float
    first: Node


def normalized(library: OpLibrary, matcher: Matcher, node: Node) -> Normalized | None:
    """The operand that a node divides by the root of the mean of its square."""
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
    """The first dimension that a mean reduces, if it reduces the last dimensions and keeps them."""
    dims, keep = library.arg(mean, "dim"), library.arg(mean, "keepdim")
    rank = len(x.shape)
    if not isinstance(dims, tuple) or not keep:
        return None
    wrapped = sorted(int(d) % rank for d in dims if isinstance(d, int))
    return wrapped[0] if wrapped == list(range(rank - len(wrapped), rank)) else None


def _quotients(matcher: Matcher, node: Node) -> list[tuple[Tensor, Tensor]]:
    """Returns (x, s) for each interpretation of a node as x / √s or x · 1/√s."""
    pairs: list[tuple[object, Tensor | None]] = []
    if node.op == DIV:
        pairs = [(node.args[0], _rooted(matcher, node.args[1]))]
    elif node.op == MUL:
        both = (node.args[:2], node.args[1::-1])
        pairs = [(x, _inverse_rooted(matcher, other)) for x, other in both]
    return [(x, s) for x, s in pairs if isinstance(x, Tensor) and s is not None]


def _rooted(matcher: Matcher, value: object) -> Tensor | None:
    """Returns s of √s."""
    root = matcher.producer(value, "aten.sqrt", *POWERS)
    if root is None or (root.op in POWERS and exponent(root) != 0.5):
        return None
    return root.args[0] if isinstance(root.args[0], Tensor) else None


def _inverse_rooted(matcher: Matcher, value: object) -> Tensor | None:
    """Returns s of 1 / √s."""
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
    """Whether a node computes x², in any form."""
    if not matcher.same(node.args[0], x):
        return False
    return (
        node.args[1] is node.args[0]
        if node.op == MUL
        else node.op in POWERS and exponent(node) == 2.0
    )


LAYER_NORM = "aten.native_layer_norm"


def fuse_layer_norm(graph: Graph, library: OpLibrary) -> None:
    """Recognizes (x − mean) / √(variance + eps), optionally followed by · weight and + bias."""
    if not library.has(LAYER_NORM):
        return
    matcher = Matcher(graph)
    for node in graph.nodes:
        found = normalized(library, matcher, node)
        x = _centered(library, matcher, found)
        if found is not None and x is not None:
            args = {"x": x, "normalized_shape": found.sizes, "eps": found.eps}
            node.op, node.args = LAYER_NORM, library.complete(LAYER_NORM, args)
    for op, name in ((MUL, "weight"), (ADD, "bias")):
        absorb(graph, library, LAYER_NORM, op, name)
    remove_dead_nodes(graph)


def _centered(library: OpLibrary, matcher: Matcher, found: Normalized | None) -> Tensor | None:
    """Returns x if the dividend is x - mean(x), with both means over the same dimensions."""
    centered = matcher.producer(found.x, "aten.sub.Tensor") if found is not None else None
    if found is None or centered is None or not library.is_plain(centered):
        return None
    x, mean = centered.args[0], matcher.producer(centered.args[1], "aten.mean.dim")
    if not isinstance(x, Tensor) or mean is None or mean.args[0] is not x:
        return None
    first = trailing(library, mean, x)
    return x if first is not None and x.shape[first:] == found.sizes else None


def absorb(graph: Graph, library: OpLibrary, norm_op: str, op: str, name: str) -> None:
    """Turns a factor or term after a normalization into its weight or bias, if the shape fits."""
    matcher = Matcher(graph)
    removed: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op != op or not library.is_plain(node):
            continue
        for value, other in (node.args[:2], node.args[1::-1]):
            norm = matcher.inner(value, norm_op)
            parameter = _parameter(library, norm, other) if norm is not None else None
            if norm is None or parameter is None or library.arg(norm, name) is not None:
                continue
            if op == MUL and library.has_arg(norm_op, "bias") and library.arg(norm, "bias"):
                continue
            args = library.with_args(norm, **{name: parameter})
            removed[norm] = node
            node.op, node.args, node.name = norm_op, args, fused_name(norm, node)
            break
    graph.nodes = [n for n in graph.nodes if n not in removed]


def _parameter(library: OpLibrary, norm: Node, value: object) -> Tensor | None:
    """The tensor in the normalized shape. A constant may have leading dimensions of size 1."""
    size = library.arg(norm, "normalized_shape")
    if not isinstance(value, Tensor) or not isinstance(size, tuple):
        return None
    if value.data is None:
        return value if value.shape == size else None
    ones = len(value.shape) - len(size)
    fits = 0 <= ones <= len(norm.outputs[0].shape) - len(size)
    if not fits or value.shape != (1,) * ones + size:
        return None
    return constant(value.name, value.data.reshape(value.shape[ones:]))


RMS_NORM = "aten.rms_norm"
_LARGEST = np.finfo(np.float16).max


def fuse_rms_norm(graph: Graph, library: OpLibrary) -> None:
    """Recognizes x / √(mean(x²) + eps), optionally followed by · weight. Removes the casts of fp16
    models.
    """
    if not library.has(RMS_NORM):
        return
    matcher = Matcher(graph)
    for node in graph.nodes:
        found = normalized(library, matcher, node)
        if found is not None:
            args = {"x": found.x, "normalized_shape": found.sizes, "eps": found.eps}
            node.op, node.args = RMS_NORM, library.complete(RMS_NORM, args)
            node.name = fused_name(found.first, node)
    absorb(graph, library, RMS_NORM, MUL, "weight")
    _use_fp16(graph, library)
    absorb(graph, library, RMS_NORM, MUL, "weight")
    remove_dead_nodes(graph)


def _use_fp16(graph: Graph, library: OpLibrary) -> None:
    """Rewrites float16 → float32 → rms_norm → float16 to the float16 operator, which accumulates in
    float32.
    """
    matcher = Matcher(graph)
    for node in graph.nodes:
        norm = matcher.inner(node.args[0], RMS_NORM) if node.op == COPY else None
        x = _fp16_source(matcher, norm)
        if norm is None or x is None or not x.dtype is node.outputs[0].dtype is DType.F16:
            continue
        weight = library.arg(norm, "weight")
        if isinstance(weight, Tensor):
            if weight.data is None or np.abs(weight.data).max(initial=0) > _LARGEST:
                continue
            weight = constant(weight.name, weight.data.astype(np.float16))
        node.args = library.with_args(norm, x=x, weight=weight)
        node.op, node.name = RMS_NORM, norm.name


def _fp16_source(matcher: Matcher, norm: Node | None) -> Tensor | None:
    """The float16 source of the input of a normalization."""
    copy = matcher.producer(norm.args[0], COPY) if norm is not None else None
    x = copy.args[0] if copy is not None else None
    return x if isinstance(x, Tensor) else None
