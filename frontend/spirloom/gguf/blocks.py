"""How ggml's types lie in memory, and what their numbers are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spirloom.bfloat16 import from_bfloat16
from spirloom.ir import Array
from spirloom.quantized_weights import QuantizedMatrix

# By number in the file: what llama.cpp calls its types.
_NAMES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1",
    10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS",
    17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS",
    24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 30: "BF16", 34: "TQ1_0",
    35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """A type: a block of so many elements takes so many bytes.

    `read` makes of blocks, uint8 [row, block, byte], floats or small whole numbers [row, element].
    """

    elements: int
    size: int
    read: Callable[[Array], Array | QuantizedMatrix]

    def row_bytes(self, width: int) -> int:
        """Of a row of `width` elements, which are whole blocks."""
        return width // self.elements * self.size


def name_of(kind: int) -> str:
    """What llama.cpp calls a type."""
    return _NAMES.get(kind, f"number {kind}")


def read_rows(kind: int, rows: Array) -> Array | QuantizedMatrix:
    """Floats [row, element], or such numbers, of the bytes of rows."""
    block = BLOCKS[kind]
    return block.read(rows.reshape(len(rows), -1, block.size))


def _flat(values: Array) -> Array:
    """[row, block, element] as [row, element]."""
    return values.reshape(len(values), -1)


def _floats(dtype: str) -> Callable[[Array], Array]:
    return lambda blocks: _flat(blocks).view(dtype)


def _bfloat16(blocks: Array) -> Array:
    return from_bfloat16(_flat(blocks).view("<u2"))


def _half(blocks: Array, at: int) -> Array:
    """A float16 of each block, as float32 [row, block]."""
    wide: Array = np.ascontiguousarray(blocks[:, :, at : at + 2]).view("<f2")[..., 0]
    return wide.astype(np.float32)


def _q4_0(blocks: Array) -> QuantizedMatrix:
    """A float16 scale, then 16 bytes: byte j has the elements j, 8 added, and j + 16."""
    packed = blocks[:, :, 2:]
    halves = np.concatenate([packed & 15, packed >> 4], axis=2)
    return QuantizedMatrix(_flat(halves.astype(np.int8) - 8), _half(blocks, 0))


def _q5_0(blocks: Array) -> QuantizedMatrix:
    """A float16 scale, 4 bytes with the fifth bit of each element, then as in Q4_0; 16 is added."""
    high = np.unpackbits(blocks[:, :, 2:6], axis=2, bitorder="little")
    packed = blocks[:, :, 6:]
    halves = np.concatenate([packed & 15, packed >> 4], axis=2) | high << 4
    return QuantizedMatrix(_flat(halves.astype(np.int8) - 16), _half(blocks, 0))


def _q8_0(blocks: Array) -> QuantizedMatrix:
    """A float16 scale, then 32 numbers."""
    return QuantizedMatrix(_flat(blocks[:, :, 2:]).view(np.int8), _half(blocks, 0))


def _q6_k(blocks: Array) -> QuantizedMatrix:
    """128 bytes of the low 4 bits, 64 of the high 2, 16 scales of 16 elements, and one of all."""
    count = blocks.shape[:2]
    low, high = blocks[:, :, :128].reshape(*count, 2, 64), blocks[:, :, 128:192]
    high = high.reshape(*count, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    low = np.concatenate([low & 15, low >> 4], axis=3).reshape(*count, 2, 4, 32)
    values = (low | high << 4).astype(np.int8) - 32
    scales = blocks[:, :, 192:208].view(np.int8).astype(np.float32)
    return QuantizedMatrix(_flat(values), _flat(scales * _half(blocks, 208)[..., None]))


def _q4_k(blocks: Array) -> QuantizedMatrix:
    """Scales and minima, then 4 bits an element."""
    return _of_k(blocks, _halves_of_k(blocks[:, :, 16:]), 8)


def _q5_k(blocks: Array) -> QuantizedMatrix:
    """Scales and minima, 32 bytes of which bit i is of group i, then the low 4 bits."""
    high = blocks[:, :, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    return _of_k(blocks, np.bitwise_or(_halves_of_k(blocks[:, :, 48:]), high << 4), 16)


def _halves_of_k(packed: Array) -> Array:
    """Of 128 bytes: 32 have the low halves of one group, and the high ones of the next."""
    low = packed.reshape(*packed.shape[:2], 4, 32)
    halves: Array = np.stack([low & 15, low >> 4], axis=3)
    return halves.reshape(*packed.shape[:2], 8, 32)


def _of_k(blocks: Array, steps: Array, middle: int) -> QuantizedMatrix:
    """Steps [row, block, group, element]. A block begins with a float16 of all its scales and one
    of all its minima, and then has 8 scales and 8 minima of 6 bits each.

    A number is what a step is beyond the middle of their range, and an offset what the middle one
    stands for: small beside the minimum, and rounded with less of an error.
    """
    first, second, third = (blocks[:, :, at : at + 4] for at in (4, 8, 12))
    scales = np.concatenate([first & 63, third & 15 | first >> 2 & 48], axis=2)
    least = np.concatenate([second & 63, third >> 4 | second >> 2 & 48], axis=2)
    scales = scales.astype(np.float32) * _half(blocks, 0)[..., None]
    least = least.astype(np.float32) * _half(blocks, 2)[..., None]
    values = steps.astype(np.int8) - np.int8(middle)
    offsets = _flat(middle * scales - least)
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
