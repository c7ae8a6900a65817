"""Recognises activations that exporters spell out: silu, hardsigmoid, hardswish."""

from __future__ import annotations

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import (
    ADD,
    CLAMPS,
    Matcher,
    is_scalar,
    limits,
    split_scalar,
)

MUL, DIV = "aten.mul.Tensor", "aten.div.Tensor"


def fuse_patterns(graph: Graph, library: OpLibrary) -> None:
    """Replaces each pattern's last node by one call; what becomes unused is removed."""
    _bypass_relus(graph, library)
    for find, op in ((_silu, "aten.silu"), (_hardsigmoid, "aten.hardsigmoid"),
                     (_hardswish, "aten.hardswish")):  # fmt: skip
        if not library.has(op):
            continue
        matcher = Matcher(graph)
        for node in graph.nodes:
            x = find(library, matcher, node)
            if x is not None and x.shape == node.outputs[0].shape:
                node.op, node.args = op, library.complete(op, {"x": x})
        remove_dead_nodes(graph)


def _bypass_relus(graph: Graph, library: OpLibrary) -> None:
    """clamp(relu(x), low, high) is clamp(x, low, high) where low ≥ 0: PyTorch exports relu6 so."""
    matcher = Matcher(graph)
    for node in graph.nodes:
        relu = matcher.producer(node.args[0], "aten.relu") if node.op in CLAMPS else None
        if relu is not None and limits(library, node)[0] >= 0:
            node.args = library.with_args(node, x=relu.args[0])


def _silu(_: OpLibrary, matcher: Matcher, node: Node) -> Tensor | None:
    """x · sigmoid(x)"""
    return _gated(matcher, node, "aten.sigmoid")


def _hardsigmoid(library: OpLibrary, matcher: Matcher, node: Node) -> Tensor | None:
    """clamp(x + 3, 0, 6) / 6"""
    if node.op not in (DIV, MUL):
        return None
    if not is_scalar(node.args[1], 6.0 if node.op == DIV else 1 / 6):
        return None
    return _relu6_of_plus_3(library, matcher, node.args[0])


def _hardswish(library: OpLibrary, matcher: Matcher, node: Node) -> Tensor | None:
    """x · hardsigmoid(x), or x · clamp(x + 3, 0, 6) / 6"""
    x = _gated(matcher, node, "aten.hardsigmoid")
    if x is not None:
        return x
    if node.op != DIV or not is_scalar(node.args[1], 6.0):
        return None
    product = matcher.producer(node.args[0], MUL)
    if product is None:
        return None
    for factor, gate in (product.args[:2], product.args[1::-1]):
        if isinstance(factor, Tensor) and _relu6_of_plus_3(library, matcher, gate) is factor:
            return factor
    return None


def _gated(matcher: Matcher, node: Node, gate_op: str) -> Tensor | None:
    """x of x · gate(x)"""
    if node.op != MUL:
        return None
    for source, gate in (node.args[:2], node.args[1::-1]):
        made_by = matcher.producer(gate, gate_op)
        if made_by is not None and made_by.args[0] is source and isinstance(source, Tensor):
            return source
    return None


def _relu6_of_plus_3(library: OpLibrary, matcher: Matcher, value: object) -> Tensor | None:
    clamp = matcher.producer(value, *CLAMPS)
    if clamp is None or limits(library, clamp) != (0.0, 6.0):
        return None
    plus = matcher.producer(clamp.args[0], ADD)
    if plus is None or not library.is_plain(plus):
        return None
    found = split_scalar(plus)
    return found[0] if found is not None and found[1] == 3 else None
