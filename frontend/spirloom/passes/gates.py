"""Recognises products and quotients that have operators of their own: swiglu and softsign."""

from __future__ import annotations

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import Matcher, fused_name, split_scalar

MUL, DIV, ADD = "aten.mul.Tensor", "aten.div.Tensor", "aten.add.Tensor"
SWIGLU, SOFTSIGN = "spirloom.swiglu", "spirloom.softsign"


def fuse_gates(graph: Graph, library: OpLibrary) -> None:
    """Replaces each pattern's last node by one call, before layers take the silu for their own."""
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
