"""Graphs whose weights are made up on the device: small files that cost it what real ones do."""

from __future__ import annotations

from math import sqrt

import numpy as np
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary

_QUANTIZE = "spirloom.quantize"
_BYTES = {DType.U8: (0, 255), DType.I8: (-128, 127)}  # with the least and the greatest of each
# Of two such bytes a bfloat16 is a number of at most 1; others may be none.
_OF_BFLOAT16 = (0, 63)
LEAST_BYTES = 4096  # smaller ones may be what the network's numbers hang on, and take no room


def made_up(graph: Graph) -> Graph:
    """The graph itself, whose large constants of floats and of bytes, as quantised weights are,
    became nodes that make such numbers."""
    constants = dict.fromkeys(
        tensor for node in graph.nodes for tensor in node.inputs() if _is_large(tensor)
    )
    brains = {t for n in graph.nodes if n.op.endswith("_bf16") for t in n.inputs()}
    graph.nodes[:0] = [node for t in constants for node in _makers(t, t in brains)]
    return graph


def _is_large(tensor: Tensor) -> bool:
    is_made = tensor.dtype in (DType.F32, DType.F16, *_BYTES)
    return tensor.data is not None and is_made and tensor.size >= LEAST_BYTES


def _makers(tensor: Tensor, of_bfloat16: bool) -> list[Node]:
    if tensor.dtype not in _BYTES:
        return [_maker(tensor)]
    tensor.data = None
    noise = Tensor(f"{tensor.name}.noise", DType.F32, tensor.shape)
    low, high = _OF_BFLOAT16 if of_bfloat16 else _BYTES[tensor.dtype]
    half = (high - low + 1) // 2
    given = {
        "x": noise,
        "scale": constant(f"{tensor.name}.scale", np.full(1, 1 / half, np.float32)),
        "zero_point": constant(f"{tensor.name}.zero", np.full(1, low + half, np.int32)),
        "quant_min": low,
        "quant_max": high,
        "dtype": str(tensor.dtype),
    }
    rounded = OpLibrary().complete(_QUANTIZE, given)
    return [
        Node("bench.noise", (tensor.shape, 1.0, "f32"), (noise,), noise.name),
        Node(_QUANTIZE, rounded, (tensor,), tensor.name),
    ]


def _maker(tensor: Tensor) -> Node:
    assert tensor.data is not None
    # Uniform numbers between -s and s deviate by s / sqrt(3).
    spread = (
        float(np.std(tensor.data.astype(np.float64))) if tensor.data.strides.count(0) == 0 else 0
    )
    tensor.data = None
    scale = sqrt(3) * spread if spread else 1 / sqrt(tensor.shape[-1] if tensor.shape else 1)
    return Node("bench.noise", (tensor.shape, scale, str(tensor.dtype)), (tensor,), tensor.name)
