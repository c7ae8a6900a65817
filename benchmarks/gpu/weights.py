"""Synthetic weights generated on the device: small files with the run time of real models."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np
from spirloom.casegen.values import widened
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes.rewrite import COPY

_QUANTIZE = "spirloom.quantize"
_BYTES = {DType.U8: (0, 255), DType.I8: (-128, 127)}  # with minimum and maximum
MIN_BYTES = 4096  # smaller constants are kept: they are small, and the results may depend on them


def with_synthetic_weights(graph: Graph) -> Graph:
    """Modifies and returns the graph: nodes that generate random values replace its large constants
    of floats and bytes (quantized weights)."""
    constants = dict.fromkeys(
        tensor for node in graph.nodes for tensor in node.inputs() if _is_large(tensor)
    )
    graph.nodes[:0] = [node for t in constants for node in _generators(t)]
    return graph


def _is_large(tensor: Tensor) -> bool:
    is_supported = tensor.dtype in (DType.F32, DType.F16, DType.BF16, *_BYTES)
    return tensor.data is not None and is_supported and tensor.size >= MIN_BYTES


def _generators(tensor: Tensor) -> list[Node]:
    if tensor.dtype is DType.BF16:
        noise = Tensor(f"{tensor.name}.noise", DType.F32, tensor.shape, tensor.values)
        tensor.data = None
        rounded = OpLibrary().complete(COPY, {"x": noise, "dtype": str(DType.BF16)})
        return [_generator(noise), Node(COPY, rounded, (tensor,), tensor.name)]
    if tensor.dtype not in _BYTES:
        return [_generator(tensor)]
    tensor.data = None
    noise = Tensor(f"{tensor.name}.noise", DType.F32, tensor.shape)
    low, high = _BYTES[tensor.dtype]
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


def _generator(tensor: Tensor) -> Node:
    assert tensor.data is not None
    # The standard deviation of a uniform distribution on [-s, s] is s / sqrt(3).
    spread = float(np.std(widened(tensor.data))) if tensor.data.strides.count(0) == 0 else 0
    tensor.data = None
    scale = sqrt(3) * spread if spread else 1 / sqrt(_depth(tensor.shape))
    return Node("bench.noise", (tensor.shape, scale, str(tensor.dtype)), (tensor,), tensor.name)


def _depth(shape: tuple[int, ...]) -> int:
    """The length of a reduction by such a weight: of all dimensions but the output channels."""
    return prod(shape[1:]) if len(shape) > 1 else prod(shape)
