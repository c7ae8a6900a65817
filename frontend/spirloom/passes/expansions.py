"""Removes the expansion of tensors that the operators reading them broadcast themselves."""

from __future__ import annotations

from spec_model.traits import Trait
from spirloom.ir import Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.data_movement import are_known
from spirloom.passes.rewrite import Matcher

EXPAND = "aten.expand"


def absorb_expansions(graph: Graph, library: OpLibrary) -> None:
    """Elementwise operators read the source of an `expand`, if another of their tensors has the
    shape of the result."""
    matcher = Matcher(graph)
    for node in graph.nodes:
        args = library.named_args(node)
        if not library.has_trait(node.op, Trait.ELEMENTWISE, args):
            continue
        for tensor in dict.fromkeys(node.inputs()):
            expand = matcher.producer(tensor, EXPAND)
            if expand is not None and _has_shape_without(node, tensor):
                (source,) = expand.inputs()
                node.replace_inputs({tensor: source})
    remove_dead_nodes(graph)


def _has_shape_without(node: Node, expanded: Tensor) -> bool:
    """Whether a tensor other than the expanded one has the shape of the result."""
    result = node.outputs[0]  # operators with this trait have one
    others = [tensor for tensor in node.inputs() if tensor is not expanded]
    if not are_known(result, expanded, *others):
        return False
    return any(tensor.shape == result.shape for tensor in others)
