"""Recognises activations that exporters spell out: silu, hardsigmoid, hardswish, gelu."""

from __future__ import annotations

from math import sqrt

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import Matcher, is_scalar, split_scalar

MUL, DIV, ADD = "aten.mul.Tensor", "aten.div.Tensor", "aten.add.Tensor"
CLAMPS = ("aten.clamp", "aten.hardtanh")


def fuse_patterns(graph: Graph, library: OpLibrary) -> None:
    """Replaces each pattern's last node by one call; what becomes unused is removed."""
    _bypass_relus(graph)
    for find, op in ((_silu, "aten.silu"), (_hardsigmoid, "aten.hardsigmoid"),
                     (_hardswish, "aten.hardswish"), (_gelu, "aten.gelu")):  # fmt: skip
        if not library.has(op):
            continue
        matcher = Matcher(graph)
        for node in graph.nodes:
            x = find(library, matcher, node)
            if x is not None and x.shape == node.outputs[0].shape:
                node.op, node.args = op, library.complete(op, {"x": x})
        remove_dead_nodes(graph)


def _bypass_relus(graph: Graph) -> None:
    """clamp(relu(x), low, high) is clamp(x, low, high) where low ≥ 0: PyTorch exports relu6 so."""
    matcher = Matcher(graph)
    for node in graph.nodes:
        relu = matcher.producer(node.args[0], "aten.relu") if node.op in CLAMPS else None
        low = node.args[1] if relu is not None else None
        if relu is not None and isinstance(low, float) and low >= 0:
            node.args = (relu.args[0], *node.args[1:])


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
    if clamp is None or clamp.args[1:3] != (0.0, 6.0):
        return None
    plus = matcher.producer(clamp.args[0], ADD)
    if plus is None or not library.is_plain(plus):
        return None
    found = split_scalar(plus)
    return found[0] if found is not None and found[1] == 3 else None


def _gelu(library: OpLibrary, matcher: Matcher, node: Node) -> Tensor | None:
    """0.5 · x · (1 + erf(x / √2)), the factors in any order"""
    factors = _factors(matcher, node)
    halves = [f for f in factors if is_scalar(f, 0.5)]
    rest = [f for f in factors if not is_scalar(f, 0.5)]
    if len(halves) != 1 or len(rest) != 2:
        return None
    for x, gate in (rest, rest[::-1]):
        if _erf_gate(library, matcher, gate) is x:
            return x
    return None


def _factors(matcher: Matcher, node: Node) -> list[Tensor]:
    """The three factors of a product of a product; none for other nodes."""
    if node.op != MUL:
        return []
    for inner, other in (node.args[:2], node.args[1::-1]):
        product = matcher.producer(inner, MUL)
        if product is not None:
            return [t for t in (*product.args[:2], other) if isinstance(t, Tensor)]
    return []


def _erf_gate(library: OpLibrary, matcher: Matcher, value: Tensor) -> Tensor | None:
    """x of 1 + erf(x / √2)"""
    plus = matcher.producer(value, ADD)
    found = split_scalar(plus) if plus is not None and library.is_plain(plus) else None
    if found is None or found[1] != 1:
        return None
    erf = matcher.producer(found[0], "aten.erf")
    scaled = matcher.producer(erf.args[0], DIV, MUL) if erf is not None else None
    if scaled is None or not isinstance(scaled.args[0], Tensor):
        return None
    factor = sqrt(2) if scaled.op == DIV else sqrt(0.5)
    return scaled.args[0] if is_scalar(scaled.args[1], factor) else None
