"""Recognises layer normalisation spelled out, as exporters do before opset 17."""

from __future__ import annotations

from spirloom.ir import Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.patterns import ADD, DIV, MUL
from spirloom.passes.rewrite import Matcher, split_scalar

LAYER_NORM = "aten.native_layer_norm"


def fuse_layer_norm(graph: Graph, library: OpLibrary) -> None:
    """(x − mean) / √(variance + eps), then · weight and + bias where they are there."""
    if not library.has(LAYER_NORM):
        return
    matcher = Matcher(graph)
    for node in graph.nodes:
        found = _normalized(library, matcher, node)
        if found is not None:
            x, size, eps = found
            args = {"x": x, "normalized_shape": size, "eps": eps}
            node.op, node.args = LAYER_NORM, library.complete(LAYER_NORM, args)
    for op, name in ((MUL, "weight"), (ADD, "bias")):
        _absorb(graph, library, op, name)
    remove_dead_nodes(graph)


def _normalized(
    library: OpLibrary, matcher: Matcher, node: Node
) -> tuple[Tensor, tuple[int, ...], float] | None:
    if node.op != DIV:
        return None
    centred = matcher.producer(node.args[0], "aten.sub.Tensor")
    root = matcher.producer(node.args[1], "aten.sqrt")
    plus = matcher.producer(root.args[0], ADD) if root is not None else None
    found = split_scalar(plus) if plus is not None and library.is_plain(plus) else None
    if centred is None or found is None or not library.is_plain(centred):
        return None
    variance = matcher.producer(found[0], "aten.mean.dim")
    square = matcher.producer(variance.args[0], MUL) if variance is not None else None
    mean = matcher.producer(centred.args[1], "aten.mean.dim")
    x = centred.args[0]
    if variance is None or square is None or mean is None or not isinstance(x, Tensor):
        return None
    same = square.args[0] is square.args[1] is node.args[0] and mean.args[0] is x
    dims = _trailing(library, mean, x)
    if not same or dims is None or _trailing(library, variance, x) != dims:
        return None
    return x, x.shape[dims:], found[1]


def _trailing(library: OpLibrary, mean: Node, x: Tensor) -> int | None:
    """The first of the dims a mean runs over, if these are the last ones, kept."""
    dims, keep = library.arg(mean, "dim"), library.arg(mean, "keepdim")
    rank = len(x.shape)
    if not isinstance(dims, tuple) or not keep:
        return None
    wrapped = sorted(int(d) % rank for d in dims if isinstance(d, int))
    return wrapped[0] if wrapped == list(range(rank - len(wrapped), rank)) else None


def _absorb(graph: Graph, library: OpLibrary, op: str, name: str) -> None:
    """Makes a constant factor or term of a layer normalisation its weight or bias."""
    matcher = Matcher(graph)
    removed: dict[Node, Node] = {}
    for node in graph.nodes:
        if node.op != op or not library.is_plain(node):
            continue
        for value, other in (node.args[:2], node.args[1::-1]):
            norm = matcher.inner(value, LAYER_NORM)
            parameter = _parameter(library, norm, other) if norm is not None else None
            if norm is None or parameter is None or library.arg(norm, name) is not None:
                continue
            if op == MUL and library.arg(norm, "bias") is not None:
                continue
            args = library.with_args(norm, **{name: parameter})
            removed[norm] = node
            node.op, node.args = LAYER_NORM, args
            break
    graph.nodes = [n for n in graph.nodes if n not in removed]


def _parameter(library: OpLibrary, norm: Node, value: object) -> Tensor | None:
    """The constant in the normalised shape."""
    size = library.arg(norm, "normalized_shape")
    if not isinstance(value, Tensor) or value.data is None or not isinstance(size, tuple):
        return None
    ones = len(value.shape) - len(size)
    if (
        ones < 0
        or value.shape != (1,) * ones + size
        or len(value.shape) > len(norm.outputs[0].shape)
    ):
        return None
    return constant(value.name, value.data.reshape(value.shape[ones:]))
