"""Absorbs zero padding into the convolution or average pool that reads it."""

from __future__ import annotations

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.rewrite import Matcher, replace_nodes

PAD, CONVOLUTION, AVERAGE = "aten.constant_pad_nd", "aten.convolution", "aten.avg_pool2d"


def absorb_padding(graph: Graph, library: OpLibrary) -> None:
    """pad → convolution becomes a convolution with padding, where both sides are padded alike."""
    matcher = Matcher(graph)
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        if node.op not in (CONVOLUTION, AVERAGE):
            continue
        pad = matcher.inner(library.arg(node, "x"), PAD)
        amounts = _zeros_around(library, pad) if pad is not None else None
        if pad is None or amounts is None or not _takes(library, node, amounts):
            continue
        old = library.arg(node, "padding")
        assert isinstance(old, tuple)
        padding = tuple(a + b for a, b in zip(old, amounts, strict=True) if isinstance(a, int))
        source = library.arg(pad, "x")
        args = library.with_args(node, x=source, padding=padding, count_include_pad=True)
        replacements |= {pad: None, node: Node(node.op, args, node.outputs, node.name)}
    replace_nodes(graph, replacements)


def _zeros_around(library: OpLibrary, pad: Node) -> tuple[int, int] | None:
    """How many zeros are put on each side in height and width; None for other padding."""
    amounts, source = library.arg(pad, "pad"), library.arg(pad, "x")
    if library.arg(pad, "value") != 0 or not isinstance(amounts, tuple):
        return None
    if not isinstance(source, Tensor) or len(source.shape) != 4 or len(amounts) > 4:
        return None
    values = [int(a) for a in amounts if isinstance(a, int)] + [0] * (4 - len(amounts))
    left, right, top, bottom = values
    return (top, left) if (top, left) == (bottom, right) and min(values) >= 0 else None


def _takes(library: OpLibrary, node: Node, amounts: tuple[int, int]) -> bool:
    """Whether the op can do this padding: a pool counts it, and must have no other."""
    if node.op == CONVOLUTION:
        return True
    kernel = library.arg(node, "kernel_size")
    assert isinstance(kernel, tuple)
    fits = all(2 * a <= k for a, k in zip(amounts, kernel, strict=True) if isinstance(k, int))
    return fits and not library.arg(node, "ceil_mode") and library.arg(node, "padding") == (0, 0)
