"""Quantized tensors: the calls that convert from and to floats, which passes fuse into layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Node, Tensor
from spirloom.op_library import OpLibrary

DEQUANTIZE, QUANTIZE = "spirloom.dequantize", "spirloom.quantize"
CHOOSE_QPARAMS = "spirloom.choose_qparams"
# The dtypes of quantized tensors, and their minimum and maximum.
QUANT_RANGES = {DType.U8: (0, 255), DType.I8: (-128, 127)}


@dataclass(frozen=True, slots=True)
class QParams:
    """Scales (float32) and zero points (int32 or int8): x = (quantized - zero_point) * scale.

    One of each, or one per index of `axis`, or one per block of the sizes `block_size`.
    """

    scale: Tensor | Array
    zero_point: Tensor | Array
    axis: int = 0
    block_size: tuple[int, ...] = ()

    @classmethod
    def per_channel(cls, scale: Array, zero_point: Array, axis: int) -> QParams:
        """Constants of one element or one per index of `axis`. Raises Unsupported."""
        count = max(scale.size, zero_point.size, 1)
        if not {scale.size, zero_point.size} <= {1, count}:
            raise Unsupported(
                f"its weight has {scale.size} scales and {zero_point.size} zero points; expected "
                "one of each, or as many of both"
            )
        scale, zero_point = (np.broadcast_to(a.reshape(-1), (count,)) for a in (scale, zero_point))
        return cls(scale, zero_point, axis)

    def args(self, build: Builder) -> dict[str, object]:
        """The arguments of quantize and dequantize, by their names."""
        return {
            "scale": _tensor(build, self.scale, DType.F32),
            "zero_point": _tensor(build, self.zero_point, DType.I32),
            "axis": self.axis,
            "block_size": self.block_size,
        }


def _tensor(build: Builder, value: Tensor | Array, dtype: DType) -> Tensor:
    return value if isinstance(value, Tensor) else build.constant(value.astype(dtype.numpy))


def quantize(
    build: Builder, x: Tensor, qparams: QParams, dtype: DType,
    quant_range: tuple[int, int] | None = None,
) -> Tensor:  # fmt: skip
    """x (float32 or float16) as `dtype`, clamped to `quant_range` (None: that of the dtype)."""
    low, high = quant_range or QUANT_RANGES[dtype]
    return build.emit(
        QUANTIZE, x=x, quant_min=low, quant_max=high, dtype=str(dtype), **qparams.args(build)
    )


def dequantize(build: Builder, x: Tensor, qparams: QParams, dtype: DType = DType.F32) -> Tensor:
    """x (int8 or uint8) as `dtype`: float32 or float16."""
    return build.emit(DEQUANTIZE, x=x, dtype=str(dtype), **qparams.args(build))


def constant_operands(library: OpLibrary, node: Node) -> tuple[Array, Array, Array] | None:
    """The x, scales and zero points of a dequantize, if all are constant and x is 8-bit."""
    x, scale, zero_point = (
        value.data if isinstance(value, Tensor) else None
        for value in (library.arg(node, name) for name in ("x", "scale", "zero_point"))
    )
    if x is None or scale is None or zero_point is None or DType.of(x.dtype) not in QUANT_RANGES:
        return None
    return x, scale, zero_point
