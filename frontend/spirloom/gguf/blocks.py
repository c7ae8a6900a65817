"""Decodes ggml's quantization blocks into floats or integer matrices with scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spirloom.bfloat16 import from_bfloat16
from spirloom.ir import Array
from spirloom.quantized_weights import QuantizedMatrix

# llama.cpp's type names by their id in the file.
_NAMES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1",
    10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS",
    17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS",
    24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0",
    35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """A type whose blocks have `elements` elements in `size` bytes.

    `read` decodes blocks, uint8 [row, block, byte], into floats or a quantized matrix
    [row, element].
    """

    elements: int
    size: int
    read: Callable[[Array], Array | QuantizedMatrix]

    def row_bytes(self, width: int) -> int:
        """The bytes of a row of `width` elements, a multiple of the block's."""
        return width // self.elements * self.size


def type_name(kind: int) -> str:
    """llama.cpp's name of a type."""
    return _NAMES.get(kind, f"id {kind}")


def decode_rows(kind: int, rows: Array) -> Array | QuantizedMatrix:
    """Decodes rows of bytes into floats or a quantized matrix, [row, element]."""
    block = BLOCKS[kind]
    return block.read(rows.reshape(len(rows), -1, block.size))


def _flat(values: Array) -> Array:
    """[row, block, element] as [row, element]."""
    return values.reshape(len(values), -1)


def _floats(dtype: str) -> Callable[[Array], Array]:
    return lambda blocks: _flat(blocks).view(dtype)


def _bfloat16(blocks: Array) -> Array:
    return from_bfloat16(_flat(blocks).view("<u2"))


def _fp16(blocks: Array, at: int) -> Array:
    """The fp16 value at byte `at` of each block, as float32 [row, block]."""
    values: Array = np.ascontiguousarray(blocks[:, :, at : at + 2]).view("<f2")[..., 0]
    return values.astype(np.float32)


def _q4_0(blocks: Array) -> QuantizedMatrix:
    """An fp16 scale, then 16 bytes: byte j has elements j and j + 16, each with bias 8."""
    packed = blocks[:, :, 2:]
    biased = np.concatenate([packed & 15, packed >> 4], axis=2)
    return QuantizedMatrix(_flat(biased.astype(np.int8) - 8), _fp16(blocks, 0))


def _q5_0(blocks: Array) -> QuantizedMatrix:
    """An fp16 scale, 4 bytes of the elements' fifth bits, then 16 bytes as in Q4_0; bias 16."""
    high = np.unpackbits(blocks[:, :, 2:6], axis=2, bitorder="little")
    packed = blocks[:, :, 6:]
    biased = np.concatenate([packed & 15, packed >> 4], axis=2) | high << 4
    return QuantizedMatrix(_flat(biased.astype(np.int8) - 16), _fp16(blocks, 0))


def _q8_0(blocks: Array) -> QuantizedMatrix:
    """An fp16 scale, then 32 int8 values."""
    return QuantizedMatrix(_flat(blocks[:, :, 2:]).view(np.int8), _fp16(blocks, 0))


def _q6_k(blocks: Array) -> QuantizedMatrix:
    """128 bytes of low 4 bits, 64 bytes of high 2 bits, 16 int8 scales of 16 elements each, and an
    fp16 scale of the block."""
    count = blocks.shape[:2]
    low, high = blocks[:, :, :128].reshape(*count, 2, 64), blocks[:, :, 128:192]
    high = high.reshape(*count, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    low = np.concatenate([low & 15, low >> 4], axis=3).reshape(*count, 2, 4, 32)
    values = (low | high << 4).astype(np.int8) - 32
    scales = blocks[:, :, 192:208].view(np.int8).astype(np.float32)
    return QuantizedMatrix(_flat(values), _flat(scales * _fp16(blocks, 208)[..., None]))


def _q4_k(blocks: Array) -> QuantizedMatrix:
    """Scales and minima, then 4 bits per element."""
    return _k_quant(blocks, _k_quant_nibbles(blocks[:, :, 16:]), 8)


def _q5_k(blocks: Array) -> QuantizedMatrix:
    """Scales and minima, 32 bytes of fifth bits (bit i: group i), then low 4 bits."""
    high = blocks[:, :, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    return _k_quant(blocks, np.bitwise_or(_k_quant_nibbles(blocks[:, :, 48:]), high << 4), 16)


def _k_quant_nibbles(packed: Array) -> Array:
    """Unpacks 128 bytes: each run of 32 has a group in its low nibbles, the next in its high."""
    runs = packed.reshape(*packed.shape[:2], 4, 32)
    nibbles: Array = np.stack([runs & 15, runs >> 4], axis=3)
    return nibbles.reshape(*packed.shape[:2], 8, 32)


def _k_quant(blocks: Array, steps: Array, middle: int) -> QuantizedMatrix:
    """Unsigned `steps` [row, block, group, element]. A block starts with two fp16 factors, of its
    scales and of its minima, then 8 scales and 8 minima of 6 bits each.

    Values are steps minus `middle`, the center of their range; offsets are the float value of
    `middle`. These are smaller than the minima, so that rounding them has a smaller error.
    """
    first, second, third = (blocks[:, :, at : at + 4] for at in (4, 8, 12))
    scales = np.concatenate([first & 63, third & 15 | first >> 2 & 48], axis=2)
    minima = np.concatenate([second & 63, third >> 4 | second >> 2 & 48], axis=2)
    scales = scales.astype(np.float32) * _fp16(blocks, 0)[..., None]
    minima = minima.astype(np.float32) * _fp16(blocks, 2)[..., None]
    values = steps.astype(np.int8) - np.int8(middle)
    offsets = _flat(middle * scales - minima)
    return QuantizedMatrix(values.reshape(len(values), -1), _flat(scales), None, offsets)


BLOCKS = {
    0: Block(1, 4, _floats("<f4")),
    1: Block(1, 2, _floats("<f2")),
    2: Block(32, 18, _q4_0),
    6: Block(32, 22, _q5_0),
    8: Block(32, 34, _q8_0),
    12: Block(256, 144, _q4_k),
    13: Block(256, 176, _q5_k),
    14: Block(256, 210, _q6_k),
    30: Block(1, 2, _bfloat16),
}
