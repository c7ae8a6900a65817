"""Fuses the sum with a residual into the layer that is computed last."""

from __future__ import annotations

from spirloom.ir import ArgValue, DType, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import ADD, Matcher, fused, replace_nodes

_FINISH = ("activation", "act_min", "act_max")  # what an add and a layer do to their result
_VIEW = "aten.view"


def fuse_residuals(graph: Graph, library: OpLibrary) -> None:
    """add(convolution(…), x) of one shape becomes one call, and so for every op with an `addend`.

    It takes the place of the sum, where both summands are there. A sum with a view of what a layer
    gives is a view of the sum.
    """
    _move_views_behind_sums(graph, library)
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


def _move_views_behind_sums(graph: Graph, library: OpLibrary) -> None:
    """add(view(layer), x) becomes view(add(layer, view(x))), where the layer could take the sum."""
    if not library.has(_VIEW):
        return
    matcher = Matcher(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += (_viewed_sum(library, matcher, node) if node.op == ADD else None) or [node]
    graph.nodes = nodes
    remove_dead_nodes(graph)


def _viewed_sum(library: OpLibrary, matcher: Matcher, add: Node) -> list[Node] | None:
    """The view of the other summand, the sum, and the view of that."""
    total = add.outputs[0]
    for value, other in (add.args[:2], add.args[1::-1]):
        view = matcher.inner(value, _VIEW)
        layer = matcher.inner(view.args[0]) if view is not None else None
        if layer is None or not isinstance(other, Tensor) or other.shape != total.shape:
            continue
        result = layer.outputs[0]
        if result.size != total.size or not _has_room(library, layer):
            continue
        summand, inner = (
            Tensor(f"{total.name}.{part}", total.dtype, result.shape)
            for part in ("addend", "layer")
        )
        operands = {"x": other, "size": result.shape}
        operands_after = {"x": inner, "size": total.shape}
        args = library.with_args(add, a=result, b=summand)
        return [
            Node(_VIEW, library.complete(_VIEW, operands), (summand,), add.name),
            Node(ADD, args, (inner,), add.name),
            Node(_VIEW, library.complete(_VIEW, operands_after), (total,), add.name),
        ]
    return None


def _takes(library: OpLibrary, layer: Node, add: Node, other: ArgValue) -> bool:
    """Whether the op can add what the sum adds to its result."""
    if not _has_room(library, layer):
        return False
    result, total = layer.outputs[0], add.outputs[0]
    if library.arg(layer, "activation") or result.dtype not in (DType.F32, DType.F16):
        return False
    return isinstance(other, Tensor) and other.shape == result.shape == total.shape


def _has_room(library: OpLibrary, layer: Node) -> bool:
    """Whether the op has an addend, and the call none."""
    return library.has_arg(layer.op, "addend") and library.arg(layer, "addend") is None


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
