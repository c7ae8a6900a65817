"""Recognizes decomposed activations: silu, hardsigmoid, hardswish, gelu, swiglu, softsign."""

from __future__ import annotations

from math import pi, sqrt

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import (
    ADD,
    CLAMPS,
    DIV,
    MUL,
    Matcher,
    fused_name,
    is_polynomial,
    is_scalar,
    limits,
    polynomial,
    split_scalar,
)


def fuse_patterns(graph: Graph, library: OpLibrary) -> None:
    """Replaces the last node of each pattern with one call, and removes nodes that become
    unused.
    """
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
    """Rewrites clamp(relu(x), low, high) to clamp(x, low, high) for low ≥ 0. PyTorch exports relu6
    like that.
    """
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
    """Returns x if the node computes x · gate(x)."""
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


GELU = "aten.gelu"
# The argument of each function for an input x, and the matching value of gelu's `approximate`.
_FORMS = {
    "aten.erf": ("none", {1: sqrt(0.5)}),
    "aten.tanh": ("tanh", {1: sqrt(2 / pi), 3: sqrt(2 / pi) * 0.044715}),
}


def fuse_gelu(graph: Graph, library: OpLibrary) -> None:
    """Recognizes 0.5 · x · (1 + erf(x / √2)), or with tanh of a polynomial, with the factors in any
    order.
    """
    if not library.has(GELU):
        return
    matcher = Matcher(graph)
    for node in graph.nodes:
        found = _gelu(library, matcher, node)
        if found is not None and found[0].shape == node.outputs[0].shape:
            x, approximate, first = found
            node.args = library.complete(GELU, {"x": x, "approximate": approximate})
            node.op, node.name = GELU, fused_name(first, node)
    remove_dead_nodes(graph)


def _gelu(library: OpLibrary, matcher: Matcher, node: Node) -> tuple[Tensor, str, Node] | None:
    factors = _factors(matcher, node)
    operands = [f for f in factors if is_scalar(f, 0.5)]
    rest = [f for f in factors if not is_scalar(f, 0.5)]
    if len(operands) != 1 or len(rest) != 2:
        return None
    for x, gate in (rest, rest[::-1]):
        function = _function(library, matcher, gate)
        if function is None:
            continue
        approximate, expected = _FORMS[function.op]
        if is_polynomial(polynomial(library, matcher, function.args[0], x), expected, x.dtype):
            return x, approximate, function
    return None


def _factors(matcher: Matcher, node: Node) -> list[Tensor]:
    """The three factors of a product of a product. Empty for other nodes."""
    if node.op != MUL:
        return []
    for inner, other in (node.args[:2], node.args[1::-1]):
        product = matcher.producer(inner, MUL)
        if product is not None:
            return [t for t in (*product.args[:2], other) if isinstance(t, Tensor)]
    return []


def _function(library: OpLibrary, matcher: Matcher, value: Tensor) -> Node | None:
    """The function f in 1 + f(…)."""
    plus = matcher.producer(value, ADD)
    found = split_scalar(plus) if plus is not None and library.is_plain(plus) else None
    return matcher.producer(found[0], *_FORMS) if found is not None and found[1] == 1 else None


SWIGLU, SOFTSIGN = "spirloom.swiglu", "spirloom.softsign"


def fuse_gated_activations(graph: Graph, library: OpLibrary) -> None:
    """Replaces the last node of each pattern with one call. Runs before layers absorb the silu."""
    matcher = Matcher(graph)
    for node in graph.nodes:
        if node.op == MUL and library.has(SWIGLU):
            _swiglu(matcher, node, library)
        elif node.op == DIV and library.has(SOFTSIGN):
            _softsign(matcher, node, library)
    remove_dead_nodes(graph)


def _swiglu(matcher: Matcher, node: Node, library: OpLibrary) -> None:
    """silu(a) · b"""
    for gate, other in (node.args[:2], node.args[1::-1]):
        silu = matcher.inner(gate, "aten.silu")
        if silu is not None and isinstance(other, Tensor) and other is not gate:
            node.name = fused_name(silu, node)
            node.args = library.complete(SWIGLU, {"a": silu.args[0], "b": other})
            node.op = SWIGLU
            return


def _softsign(matcher: Matcher, node: Node, library: OpLibrary) -> None:
    """x / (1 + |x|)"""
    plus = matcher.inner(node.args[1], ADD)
    found = split_scalar(plus) if plus is not None and library.is_plain(plus) else None
    if found is None or found[1] != 1:
        return
    size = matcher.inner(found[0], "aten.abs")
    if size is not None and size.args[0] is node.args[0]:
        node.op, node.args = SOFTSIGN, library.complete(SOFTSIGN, {"x": node.args[0]})
