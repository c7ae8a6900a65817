"""How much work the nodes of a graph do: for costs, so nearly is enough."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from spirloom.ir import Node
from spirloom.ops import OpLibrary

# Products of matrices: each element of the result sums as many products as the first has columns.
_PRODUCTS = frozenset({"aten.linear", "aten.matmul", "aten.mm", "aten.bmm", "aten.addmm",
                       "aten.baddbmm"})  # fmt: skip
_ATTENTION = "aten.scaled_dot_product_attention"


def work_of(nodes: Sequence[Node], library: OpLibrary) -> tuple[float, float]:
    """Operations on numbers, and bytes read and written; views do neither."""
    flops = nbytes = 0.0
    for node in nodes:
        if library.has(node.op) and library.is_view(node.op):
            continue
        flops += _flops(node)
        nbytes += sum(tensor.size for tensor in (*node.inputs(), *node.outputs))
    return flops, nbytes


def _flops(node: Node) -> float:
    count = float(sum(prod(tensor.shape) for tensor in node.outputs))
    tensors = list(node.inputs())
    if node.op in _PRODUCTS and tensors:
        widest = max(tensors[:3], key=lambda t: len(t.shape))
        return 2 * count * (widest.shape[-1] if widest.shape else 1)
    if node.op.startswith("aten.convolution") and len(tensors) > 1:
        weight = tensors[1].shape
        return 2 * count * prod(weight[1:])
    if node.op == _ATTENTION and len(tensors) > 1 and len(tensors[1].shape) > 1:
        return 4 * count * tensors[1].shape[-2]
    return count
