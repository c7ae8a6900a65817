"""Recognizes decomposed layer normalization and RMS normalization."""

from __future__ import annotations

import numpy as np

from spirloom.ir import ArgValue, DType, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.patterns import Match, Rewrite, Rewrites
from spirloom.passes.rewrite import ADD, COPY, MUL, Matcher, fused_name

LAYER_NORM, RMS_NORM = "aten.native_layer_norm", "aten.rms_norm"
_LARGEST = np.finfo(np.float16).max


def _trailing(dims: ArgValue, x: Tensor) -> tuple[int, ...] | None:
    """The sizes of the dimensions that a mean reduces, if these are the last ones."""
    rank = len(x.shape)
    if not isinstance(dims, tuple):
        return None
    wrapped = sorted(int(d) % rank for d in dims if isinstance(d, int))
    last = bool(wrapped) and wrapped == list(range(rank - len(wrapped), rank))
    return x.shape[wrapped[0] :] if last else None


def _normalized(_: OpLibrary, found: Match) -> dict[str, object] | None:
    """The normalized shape, if all means are over it."""
    x = found.tensor("x")
    shapes = {_trailing(found[name], x) for name in ("dims", "inner") if name in found.values}
    (shape,) = shapes if len(shapes) == 1 else (None,)
    return None if shape is None else {"shape": shape}


def _norm(x: str, replacement: str) -> Rewrite:
    """x / √(mean(x²) + eps)"""
    return Rewrite(
        f"({x}) / sqrt(aten.mean.dim(square({x}), dims, True, ...) + eps)",
        replacement,
        _normalized,
        scalars=["eps"],
    )


_CENTERED = "x - aten.mean.dim(x, inner, True, ...)"
_layer_norms = Rewrites(
    _norm(_CENTERED, "aten.native_layer_norm(x, normalized_shape=shape, eps=eps)")
)
_rms_norms = Rewrites(_norm("x", "aten.rms_norm(x, normalized_shape=shape, eps=eps)"))


def fuse_layer_norm(graph: Graph, library: OpLibrary) -> None:
    """Recognizes (x − mean) / √(variance + eps), optionally followed by · weight and + bias."""
    _layer_norms(graph, library)
    for op, name in ((MUL, "weight"), (ADD, "bias")):
        absorb(graph, library, LAYER_NORM, op, name)
    remove_dead_nodes(graph)


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


def fuse_rms_norm(graph: Graph, library: OpLibrary) -> None:
    """Recognizes x / √(mean(x²) + eps), optionally followed by · weight. Removes the casts of fp16
    models.
    """
    _rms_norms(graph, library)
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
