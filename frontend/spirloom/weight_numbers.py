"""Matrices of rounded numbers, and the args of operators that take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spirloom.bfloat16 import bytes_of
from spirloom.ir import Array, DType, Tensor, constant

# A group that kernels read by whole words.
_MULTIPLE = 4


@dataclass(frozen=True, slots=True)
class Numbers:
    """A weight: int8 [rows, depth], of which every group of a row's elements has a scale and, where
    there are such, a zero point and an offset; each is [rows, groups]. A value is
    (number - zero point) * scale + offset."""

    values: Array
    scales: Array
    zeros: Array | None = None
    offsets: Array | None = None

    @property
    def group(self) -> int:
        """The elements of a group."""
        groups = max(self.scales.shape[1], 1)
        return int(self.values.shape[1] // groups)

    @property
    def bits(self) -> int:
        """How many a number needs: 4 or 8."""
        even = self.values.shape[1] % 2 == 0
        small = even and self.values.size > 0 and self.values.min() >= -8 and self.values.max() <= 7
        return 4 if small else 8

    @property
    def kind(self) -> str:
        """What the names of operators that take them end in."""
        return f"q{self.bits}"

    def rows(self, index: slice | Array) -> Numbers:
        """Some of the rows."""
        zeros, offsets = (None if t is None else t[index] for t in (self.zeros, self.offsets))
        return Numbers(self.values[index], self.scales[index], zeros, offsets)

    def floats(self) -> Array:
        """The values, float32 [rows, depth]."""
        rows, depth = self.values.shape
        groups = self.values.astype(np.float32).reshape(rows, -1, self.group)
        if self.zeros is not None:
            groups -= self.zeros[..., None]
        groups *= self.scales.astype(np.float32)[..., None]
        if self.offsets is not None:
            groups += self.offsets.astype(np.float32)[..., None]
        return groups.reshape(rows, depth)

    def arguments(self, name: str, dtype: DType = DType.F32) -> dict[str, Tensor | int | None]:
        """Those of a layer of `bits`, of which x is of `dtype`."""
        values = nibbles(self.values) if self.bits == 4 else self.values
        scales = halves_if_exact(self.scales.T)
        return {
            "weight": constant(name, np.ascontiguousarray(values)),
            "scales": constant(f"{name}.scales", scales),
            "group": self.group,
            "zeros": None if self.zeros is None else constant(f"{name}.zeros", self.zeros.T),
            "offsets": None
            if self.offsets is None
            else constant(f"{name}.offsets", self.offsets.T.astype(dtype.numpy, order="C")),
        }


@dataclass(frozen=True, slots=True)
class BFloat16Matrix:
    """A weight of bfloat16: uint8 [rows, 2 depth], a number's bytes one after the other."""

    bytes: Array
    kind = "bf16"

    def arguments(self, name: str, dtype: DType = DType.F32) -> dict[str, Tensor | int | None]:
        """Those of a layer, of which x is float32: there are no others."""
        assert dtype is DType.F32
        return {"weight": constant(name, self.bytes)}


# What a layer's weight is rounded to.
Rounded = Numbers | BFloat16Matrix


def of_table(
    arguments: Mapping[str, Tensor | int | None], dtype: DType
) -> dict[str, Tensor | int | str | None]:
    """The args of a table, whose rows are picked as `dtype`: of those that a layer of the same
    weight has. Of numbers with zero points there is none."""
    assert arguments.get("zeros") is None
    kept: dict[str, Tensor | int | str | None] = {**arguments}
    if "scales" in kept:
        del kept["zeros"]
        kept |= {"by_column": True, "dtype": str(dtype)}
    return kept


def numbers_of(values: Array, scale: Array, zero: Array) -> Numbers | None:
    """From whole numbers [rows, depth], and scales and zero points for [row blocks, groups].

    None for what no layer takes: ragged groups, numbers or zero points beyond int8.
    """
    rows, depth = values.shape
    blocks, groups = scale.shape
    if min(rows, depth, blocks, groups) < 1 or rows % blocks or depth % groups:
        return None
    if groups > 1 and depth // groups % _MULTIPLE:
        return None
    wide, zero = values.astype(np.int32), zero.astype(np.int32)
    if values.dtype == np.uint8:  # about the middle of what is used
        middle = 8 if wide.max() <= 15 and zero.max() <= 15 else 128
        wide, zero = wide - middle, zero - middle
    if zero.min() < -128 or zero.max() > 127:
        return None
    repeats = rows // blocks
    zeros = np.repeat(zero, repeats, axis=0).astype(np.int8) if zero.any() else None
    return Numbers(wide.astype(np.int8), np.repeat(scale, repeats, axis=0), zeros)


def nibbles(values: Array) -> Array:
    """Two numbers of -8..7 a byte, the first one in the low half."""
    halves = (values + 8).astype(np.uint8)
    return np.asarray(halves[:, 0::2] | halves[:, 1::2] << 4)


def halves_if_exact(scales: Array) -> Array:
    """As float16 where that changes none, else as float32."""
    wide: Array = np.ascontiguousarray(scales, np.float32)
    with np.errstate(over="ignore"):
        half: Array = wide.astype(np.float16)
    return half if np.array_equal(half.astype(np.float32), wide) else wide


def brains_of(weight: Array) -> BFloat16Matrix:
    """A float matrix as bfloat16, to which it is rounded."""
    return BFloat16Matrix(bytes_of(weight))


def rounded_to_nearest(weight: Array, bits: int, group: int) -> Numbers:
    """A float matrix in groups of a row, or with `group` 0 in rows.

    The scale takes the element that is farthest from 0 to an end of the range.
    """
    rows, depth = weight.shape
    size = group or depth
    wide = weight.astype(np.float32).reshape(rows, depth // size, size)
    farthest = np.take_along_axis(wide, np.abs(wide).argmax(axis=-1)[..., None], axis=-1)
    scales = farthest / -8 if bits == 4 else np.abs(farthest) / 127
    scales = halved(scales)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(scales == 0, 0, np.rint(wide / scales))
    values = np.clip(steps, -8 if bits == 4 else -127, 7 if bits == 4 else 127)
    return Numbers(values.reshape(rows, depth).astype(np.int8), scales[..., 0], None)


def halved(scales: Array) -> Array:
    """Rounded to float16, as float32, if that costs no more than its 11 bits, by the norm of all: a
    few that are too small for its full precision, beside larger ones, are rounded, too."""
    wide = scales.astype(np.float32)
    with np.errstate(over="ignore"):
        half = wide.astype(np.float16).astype(np.float32)
    error, size = (np.linalg.norm(t.astype(np.float64)) for t in (half - wide, wide))
    return half if error <= size * 2.0**-11 else wide


@dataclass(frozen=True, slots=True)
class Filters:
    """A weight: int8 [filters, …], each filter with a scale and, where there are, a zero point."""

    values: Array
    scales: Array
    zeros: Array | None

    def arguments(self) -> dict[str, Tensor | None]:
        """Those of a layer of numbers."""
        return {
            "weight": constant("weight", self.values),
            "scales": constant("weight.scales", self.scales),
            "zeros": None if self.zeros is None else constant("weight.zeros", self.zeros),
        }


def filters_of(values: Array, scale: Array, zero: Array) -> Filters | None:
    """Filters of int8 or uint8 with one scale and zero point or one for each; None if they differ
    in size, or a scale is no number to divide by."""
    count = len(values)
    if scale.size not in (1, count) or zero.size not in (1, count):
        return None
    if not np.isfinite(scale).all() or not (scale > 0).all():
        return None
    middle = 128 if values.dtype == np.uint8 else 0
    numbers = (values.astype(np.int16) - middle).astype(np.int8)
    zeros = np.broadcast_to(zero.astype(np.int32) - middle, (count,))
    scales = np.broadcast_to(scale.astype(np.float32), (count,))
    return Filters(numbers, scales, zeros if zeros.any() else None)
