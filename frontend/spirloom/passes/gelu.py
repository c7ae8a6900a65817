"""Recognises gelu, by the error function or by a hyperbolic tangent."""

from __future__ import annotations

from math import pi, sqrt

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.polynomial import MUL, is_polynomial, polynomial
from spirloom.passes.rewrite import ADD, Matcher, fused_name, is_scalar, split_scalar

GELU = "aten.gelu"
# What the function is given of x, by the function; gelu's argument `approximate`.
_FORMS = {
    "aten.erf": ("none", {1: sqrt(0.5)}),
    "aten.tanh": ("tanh", {1: sqrt(2 / pi), 3: sqrt(2 / pi) * 0.044715}),
}


def fuse_gelu(graph: Graph, library: OpLibrary) -> None:
    """0.5 · x · (1 + erf(x / √2)), or with tanh of a polynomial, the factors in any order."""
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
    halves = [f for f in factors if is_scalar(f, 0.5)]
    rest = [f for f in factors if not is_scalar(f, 0.5)]
    if len(halves) != 1 or len(rest) != 2:
        return None
    for x, gate in (rest, rest[::-1]):
        function = _function(library, matcher, gate)
        if function is None:
            continue
        approximate, wanted = _FORMS[function.op]
        if is_polynomial(polynomial(library, matcher, function.args[0], x), wanted, x.dtype):
            return x, approximate, function
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


def _function(library: OpLibrary, matcher: Matcher, value: Tensor) -> Node | None:
    """The function f of 1 + f(…)."""
    plus = matcher.producer(value, ADD)
    found = split_scalar(plus) if plus is not None and library.is_plain(plus) else None
    return matcher.producer(found[0], *_FORMS) if found is not None and found[1] == 1 else None
