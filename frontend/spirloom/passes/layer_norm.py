"""Recognises layer normalisation spelled out, as models and exporters do."""

from __future__ import annotations

from spirloom.ir import Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.mean_square import Normalized, normalized, trailing
from spirloom.passes.polynomial import MUL
from spirloom.passes.rewrite import ADD, Matcher, fused_name

LAYER_NORM = "aten.native_layer_norm"


def fuse_layer_norm(graph: Graph, library: OpLibrary) -> None:
    """(x − mean) / √(variance + eps), then · weight and + bias where they are there."""
    if not library.has(LAYER_NORM):
        return
    matcher = Matcher(graph)
    for node in graph.nodes:
        found = normalized(library, matcher, node)
        x = _centred(library, matcher, found)
        if found is not None and x is not None:
            args = {"x": x, "normalized_shape": found.sizes, "eps": found.eps}
            node.op, node.args = LAYER_NORM, library.complete(LAYER_NORM, args)
    for op, name in ((MUL, "weight"), (ADD, "bias")):
        absorb(graph, library, LAYER_NORM, op, name)
    remove_dead_nodes(graph)


def _centred(library: OpLibrary, matcher: Matcher, found: Normalized | None) -> Tensor | None:
    """x of what was x - mean(x) before it was divided, both means over the same dims."""
    centred = matcher.producer(found.x, "aten.sub.Tensor") if found is not None else None
    if found is None or centred is None or not library.is_plain(centred):
        return None
    x, mean = centred.args[0], matcher.producer(centred.args[1], "aten.mean.dim")
    if not isinstance(x, Tensor) or mean is None or mean.args[0] is not x:
        return None
    first = trailing(library, mean, x)
    return x if first is not None and x.shape[first:] == found.sizes else None


def absorb(graph: Graph, library: OpLibrary, norm_op: str, op: str, name: str) -> None:
    """Makes a factor or term of a normalisation its weight or bias, if it has that shape."""
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
    """The tensor in the normalised shape; a constant may have dims of size 1 before it."""
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
