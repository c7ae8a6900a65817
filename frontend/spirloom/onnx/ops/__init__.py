"""Converters by theme. Importing this package fills table.CONVERTERS."""

from spirloom.onnx.ops import (
    arrange,
    convolution,
    elementwise,
    matmul,
    normalize,
    pool,
    reduce,
    resize,
    shape,
)

__all__ = [
    "arrange",
    "convolution",
    "elementwise",
    "matmul",
    "normalize",
    "pool",
    "reduce",
    "resize",
    "shape",
]
