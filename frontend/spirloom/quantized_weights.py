"""Quantized weight matrices, and the arguments of operators that read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spec_model.stored_float import decoded, encoded
from spirloom.deferred import Deferred
from spirloom.ir import Array, DType, Tensor, constant

# Kernels read groups in 32-bit words.
_MULTIPLE = 4
_TRANSPOSED_ROWS = 128


@dataclass(frozen=True, slots=True)
class QuantizedMatrix:
    """A weight of [rows, depth] codes: int8, or with 4 `bits` packed by pack_int4, uint8 [rows,
    depth / 2]. Each group of elements in a row has a scale and, optionally, a zero point and an
    offset, all stored as [rows, groups]. value = (code - zero point) * scale + offset.
    """

    codes: Array | Deferred
    scales: Array
    zeros: Array | None = None
    offsets: Array | None = None
    bits: int = 8

    @classmethod
    def of(
        cls, values: Array, scales: Array, zeros: Array | None = None, bits: int | None = None
    ) -> QuantizedMatrix:
        """Of int8 values [rows, depth], with 4 or 8 `bits`. None: 4 if all values fit, for sources
        that store int4 values as int8. An odd depth requires 8 bits."""
        if bits is None:
            bits = 4 if values.size > 0 and values.min() >= -8 and values.max() <= 7 else 8
        if bits == 4 and values.shape[1] % 2 == 0:
            return cls(pack_int4(values), scales, zeros, bits=4)
        return cls(values, scales, zeros)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and depth."""
        rows, columns = self.codes.shape
        return rows, columns * 8 // self.bits

    @property
    def group(self) -> int:
        """The number of elements of a group."""
        groups = max(self.scales.shape[1], 1)
        return int(self.shape[1] // groups)

    @property
    def kind(self) -> str:
        """The suffix of operators that accept this format."""
        return f"w{self.bits}"

    def rows(self, index: slice | Array) -> QuantizedMatrix:
        """A subset of the rows."""
        zeros, offsets = (None if t is None else t[index] for t in (self.zeros, self.offsets))
        codes = rows_of(self.codes, index)
        return QuantizedMatrix(codes, self.scales[index], zeros, offsets, self.bits)

    def values(self) -> Array:
        """The codes as int8 [rows, depth]."""
        codes = self.codes.array() if isinstance(self.codes, Deferred) else self.codes
        return unpack_int4(codes) if self.bits == 4 else codes

    def floats(self) -> Array:
        """The dequantized matrix, float32 [rows, depth]."""
        rows, depth = self.shape
        groups = self.values().astype(np.float32).reshape(rows, -1, self.group)
        if self.zeros is not None:
            groups -= self.zeros[..., None]
        groups *= self.scales.astype(np.float32)[..., None]
        if self.offsets is not None:
            groups += self.offsets.astype(np.float32)[..., None]
        return groups.reshape(rows, depth)

    def arguments(self, name: str, dtype: DType = DType.F32) -> dict[str, Tensor | int | None]:
        """The arguments of a layer with `bits`-bit weights and an input x of `dtype`."""
        scales = transposed(fp16_if_exact(self.scales))
        offsets = self.offsets
        if offsets is not None:
            offsets = transposed(offsets.astype(dtype.numpy, copy=False))
        return {
            "weight": constant(name, self.codes),
            "scales": constant(f"{name}.scales", scales),
            "group": self.group,
            "zeros": None if self.zeros is None else constant(f"{name}.zeros", self.zeros.T),
            "offsets": None if offsets is None else constant(f"{name}.offsets", offsets),
        }


@dataclass(frozen=True, slots=True)
class BFloat16Matrix:
    """A bfloat16 weight [rows, depth]."""

    values: Array | Deferred
    kind = "bf16"

    def arguments(self, name: str, dtype: DType = DType.F32) -> dict[str, Tensor | int | None]:
        """The arguments of a layer with a float32 input x."""
        assert dtype is DType.F32
        return {"weight": constant(name, self.values)}


@dataclass(frozen=True, slots=True)
class Float8Matrix:
    """An f8 weight [rows, depth] with a scale per row, float32 [rows]."""

    values: Array | Deferred
    scales: Array
    kind = "f8"

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and depth."""
        return self.values.shape

    def rows(self, index: slice | Array) -> Float8Matrix:
        """A subset of the rows."""
        return Float8Matrix(rows_of(self.values, index), self.scales[index])

    def floats(self) -> Array:
        """The matrix, float32 [rows, depth]."""
        values = self.values.array() if isinstance(self.values, Deferred) else self.values
        stored = DType.of(values.dtype)
        assert stored is not None
        return np.asarray(decoded(values, stored) * self.scales[:, None])

    def arguments(self, name: str, dtype: DType = DType.F32) -> dict[str, Tensor | int | None]:
        """The arguments of a layer with an input x of any dtype."""
        return {
            "weight": constant(name, self.values),
            "scales": constant(f"{name}.scales", self.scales),
        }


# The formats of a quantized weight.
QuantizedWeight = QuantizedMatrix | BFloat16Matrix | Float8Matrix


def embedding_arguments(
    arguments: Mapping[str, Tensor | int | None], dtype: DType
) -> dict[str, Tensor | int | str | None]:
    """The arguments of an embedding (with results of `dtype`), from those of a layer with the same
    weight. Weights with zero points are not supported.
    """
    assert arguments.get("zeros") is None
    kept: dict[str, Tensor | int | str | None] = {**arguments}
    if "scales" in kept:
        kept.pop("zeros", None)
        kept |= {"group_major": True, "dtype": str(dtype)}
    return kept


def from_codes(
    values: Array, scale: Array, zero: Array, bits: int | None = None
) -> QuantizedMatrix | None:
    """From integer codes [rows, depth], and scales and zero points of shape [row blocks, groups].
    `bits` as in QuantizedMatrix.of(): the width that the source states, if it does.

    None for unsupported formats: ragged groups, or codes or zero points beyond int8.
    """
    rows, depth = values.shape
    blocks, groups = scale.shape
    if min(rows, depth, blocks, groups) < 1 or rows % blocks or depth % groups:
        return None
    if groups > 1 and depth // groups % _MULTIPLE:
        return None
    wide, zero = values.astype(np.int32), zero.astype(np.int32)
    if values.dtype == np.uint8:  # centered on the range of the bits, or on that in use
        narrow = bits == 4 or (bits is None and wide.max() <= 15 and zero.max() <= 15)
        middle = 8 if narrow else 128
        wide, zero = wide - middle, zero - middle
    if zero.min() < -128 or zero.max() > 127:
        return None
    repeats = rows // blocks
    zeros = np.repeat(zero, repeats, axis=0).astype(np.int8) if zero.any() else None
    return QuantizedMatrix.of(wide.astype(np.int8), np.repeat(scale, repeats, axis=0), zeros, bits)


def rows_of(stored: Array | Deferred, index: slice | Array) -> Array | Deferred:
    """A range of the rows, or the rows of these numbers."""
    if not isinstance(stored, Deferred):
        return stored[index]
    if isinstance(index, slice):
        return stored.rows(*index.indices(len(stored))[:2])
    return stored.reordered(index)


def pack_int4(values: Array) -> Array:
    """Packs two int4 values per byte, the first in the low nibble, plus 8 each."""
    nibbles = (values + 8).astype(np.uint8)
    return np.asarray(nibbles[:, 0::2] | nibbles[:, 1::2] << 4)


def unpack_int4(packed: Array) -> Array:
    """The int8 values that pack_int4() packed."""
    nibbles = np.stack([packed & 15, packed >> 4], axis=-1)
    return np.asarray(nibbles.reshape(len(packed), -1).astype(np.int8) - np.int8(8))


def transposed(matrix: Array) -> Array:
    """The transposition in memory order, copied by ranges of rows that stay in the CPU's caches:
    several times faster than NumPy's copy of a transposed view."""
    result = np.empty(matrix.shape[::-1], matrix.dtype)
    for start in range(0, len(matrix), _TRANSPOSED_ROWS):
        rows = matrix[start : start + _TRANSPOSED_ROWS]
        result[:, start : start + len(rows)] = rows.T
    return result


def fp16_if_exact(scales: Array) -> Array:
    """The scales as float16 if that is exact, otherwise as float32."""
    if scales.dtype == np.float16:
        return np.ascontiguousarray(scales)
    wide: Array = np.ascontiguousarray(scales, np.float32)
    with np.errstate(over="ignore"):
        rounded: Array = wide.astype(np.float16)
    return rounded if np.array_equal(rounded.astype(np.float32), wide) else wide


def bfloat16_matrix(weight: Array) -> BFloat16Matrix:
    """A float matrix rounded to bfloat16."""
    return BFloat16Matrix(encoded(weight.astype(np.float32, copy=False), DType.BF16))


def quantize_matrix(weight: Array, bits: int, group: int) -> QuantizedMatrix:
    """Quantizes a float matrix in groups of a row. With `group` 0, a group is a row.

    The scale maps the element of maximum magnitude to an end of the range.
    """
    rows, depth = weight.shape
    size = group or depth
    wide = weight.astype(np.float32).reshape(rows, depth // size, size)
    farthest = np.take_along_axis(wide, np.abs(wide).argmax(axis=-1)[..., None], axis=-1)
    scales = farthest / -8 if bits == 4 else np.abs(farthest) / 127
    scales = fp16_scales(scales)
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = np.where(scales == 0, 0, np.rint(wide / scales))
    values = np.clip(codes, -8 if bits == 4 else -127, 7 if bits == 4 else 127)
    codes = values.reshape(rows, depth).astype(np.int8)
    packed = pack_int4(codes) if bits == 4 and depth % 2 == 0 else codes
    return QuantizedMatrix(packed, scales[..., 0], bits=4 if packed is not codes else 8)


_NORM_ELEMENTS = 1 << 16  # converted to float64 at once, in the CPU's caches


def fp16_scales(scales: Array) -> Array:
    """The scales rounded to float16 (returned as float32), if the error in the norm is within
    float16 precision. Small subnormal scales next to larger ones are then rounded too. Float16
    scales are returned as they are.
    """
    if scales.dtype == np.float16:
        return scales
    wide = np.ascontiguousarray(scales, np.float32)
    with np.errstate(over="ignore"):
        rounded = wide.astype(np.float16).astype(np.float32)
    error, size = 0.0, 0.0
    for start in range(0, wide.size, _NORM_ELEMENTS):
        part = wide.reshape(-1)[start : start + _NORM_ELEMENTS].astype(np.float64)
        difference = rounded.reshape(-1)[start : start + _NORM_ELEMENTS] - part
        # No product of BLAS: its threads spin, many times longer than they compute.
        error += float(np.square(difference, out=difference).sum())
        size += float(np.square(part, out=part).sum())
    return rounded if error <= size * 2.0**-22 else wide


@dataclass(frozen=True, slots=True)
class Filters:
    """A weight: int8 [filters, …]. Each filter has a scale and, optionally, a zero point."""

    values: Array
    scales: Array
    zeros: Array | None

    def arguments(self) -> dict[str, Tensor | None]:
        """The arguments of an integer layer."""
        return {
            "weight": constant("weight", self.values),
            "scales": constant("weight.scales", self.scales),
            "zeros": None if self.zeros is None else constant("weight.zeros", self.zeros),
        }


def filters_of(values: Array, scale: Array, zero: Array) -> Filters | None:
    """Filters of int8 or uint8, with one scale and zero point or one for each filter. None if the
    sizes differ or a scale is not a positive finite number.
    """
    count = len(values)
    if scale.size not in (1, count) or zero.size not in (1, count):
        return None
    if not np.isfinite(scale).all() or not (scale > 0).all():
        return None
    middle = 128 if values.dtype == np.uint8 else 0
    codes = (values.astype(np.int16) - middle).astype(np.int8)
    zeros = np.broadcast_to(zero.astype(np.int32) - middle, (count,))
    scales = np.broadcast_to(scale.astype(np.float32), (count,))
    return Filters(codes, scales, zeros if zeros.any() else None)
