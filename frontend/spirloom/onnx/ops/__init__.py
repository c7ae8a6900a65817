"""Converters by theme. Importing this package fills table.CONVERTERS."""

from spirloom.onnx.ops import (
    arrange,
    convolution,
    einsum,
    elementwise,
    indexing,
    matmul,
    normalize,
    places,
    pool,
    quantize,
    recurrent,
    reduce,
    resize,
    sampling,
    shape,
)

__all__ = [
    "arrange",
    "convolution",
    "einsum",
    "elementwise",
    "indexing",
    "matmul",
    "normalize",
    "places",
    "pool",
    "quantize",
    "recurrent",
    "reduce",
    "resize",
    "sampling",
    "shape",
]
