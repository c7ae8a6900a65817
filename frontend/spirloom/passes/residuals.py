"""Fuses the sum with a residual into the layer that is computed last."""

from __future__ import annotations

from spirloom.ir import ArgValue, DType, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.rewrite import ADD, Matcher, fused, replace_nodes

_FINISH = ("activation", "act_min", "act_max")  # what an add and a layer do to their result


def fuse_residuals(graph: Graph, library: OpLibrary) -> None:
    """add(convolution(…), x) of one shape becomes one call, and so for every op with an `addend`.

    It takes the place of the sum, where both summands are there.
    """
    matcher = Matcher(graph)
    order = {node: number for number, node in enumerate(graph.nodes)}
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        if node.op != ADD or library.arg(node, "alpha") != 1:
            continue
        found = [
            (order[layer], layer, other)
            for value, other in (node.args[:2], node.args[1::-1])
            if (layer := matcher.inner(value)) is not None
            and layer not in replacements
            and _takes(library, layer, node, other)
        ]
        if not found:
            continue
        _, layer, other = max(found, key=lambda each: each[0])
        changes = {name: library.arg(node, name) for name in _FINISH}
        args = library.with_args(layer, addend=other, **changes)
        replacements |= {
            layer: None,
            node: fused(layer, node, args),
        }
    replace_nodes(graph, replacements)


def _takes(library: OpLibrary, layer: Node, add: Node, other: ArgValue) -> bool:
    """Whether the op can add what the sum adds to its result."""
    if not library.has_arg(layer.op, "addend") or library.arg(layer, "addend") is not None:
        return False
    result, total = layer.outputs[0], add.outputs[0]
    if library.arg(layer, "activation") or result.dtype not in (DType.F32, DType.F16):
        return False
    return isinstance(other, Tensor) and other.shape == result.shape == total.shape


def split_residual(library: OpLibrary, node: Node) -> list[Node]:
    """The layer and the sum that a node with an addend is made of; else the node itself."""
    if not library.has_arg(node.op, "addend") or library.arg(node, "addend") is None:
        return [node]
    total = node.outputs[0]
    part = Tensor(f"{total.name}.layer", total.dtype, total.shape)
    finish = {name: library.arg(node, name) for name in _FINISH}
    plain = {"activation": 0, "act_min": 0.0, "act_max": 0.0}
    layer = Node(node.op, library.with_args(node, addend=None, **plain), (part,), node.name)
    operands = {"a": part, "b": library.arg(node, "addend"), **finish}
    return [layer, Node(ADD, library.complete(ADD, operands), (total,), f"{node.name}.add")]
