"""Graphs whose weights are made up on the device: small files that cost it what real ones do."""

from __future__ import annotations

from math import sqrt

import numpy as np
from spirloom.ir import DType, Graph, Node, Tensor

LEAST_BYTES = 4096  # smaller ones may be what the network's numbers hang on, and take no room


def made_up(graph: Graph) -> Graph:
    """The graph itself, whose large constants of floats became nodes that make such numbers."""
    constants = dict.fromkeys(
        tensor for node in graph.nodes for tensor in node.inputs() if _is_large(tensor)
    )
    makers = [_maker(tensor) for tensor in constants]
    graph.nodes[:0] = makers
    return graph


def _is_large(tensor: Tensor) -> bool:
    is_float = tensor.dtype in (DType.F32, DType.F16)
    return tensor.data is not None and is_float and tensor.size >= LEAST_BYTES


def _maker(tensor: Tensor) -> Node:
    assert tensor.data is not None
    # Uniform numbers between -s and s deviate by s / sqrt(3).
    spread = (
        float(np.std(tensor.data.astype(np.float64))) if tensor.data.strides.count(0) == 0 else 0
    )
    tensor.data = None
    scale = sqrt(3) * spread if spread else 1 / sqrt(tensor.shape[-1] if tensor.shape else 1)
    return Node("bench.noise", (tensor.shape, scale, str(tensor.dtype)), (tensor,), tensor.name)
