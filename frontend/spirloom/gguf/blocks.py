"""Decodes ggml's quantization blocks into floats or integer matrices with scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from spirloom.constants_file import BLOCK_BYTES, THREADS
from spirloom.deferred import Deferred
from spirloom.ir import Array, DType
from spirloom.mapped_file import release_pages
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
class Scales:
    """Float16 or float32 [row, group]; a matrix's values are codes * scales + offsets."""

    scales: Array
    offsets: Array | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A type whose blocks have `elements` elements in `size` bytes.

    `read` decodes blocks, uint8 [row, block, byte], into floats [row, element], or into the codes
    of a QuantizedMatrix of `bits` bits, whose scales `scales` decodes.
    """

    elements: int
    size: int
    read: Callable[[Array], Array]
    bits: int = 0
    scales: Callable[[Array], Scales] | None = None

    def row_bytes(self, width: int) -> int:
        """The bytes of a row of `width` elements, a multiple of the block's."""
        return width // self.elements * self.size

    def split(self, rows: Array) -> Array:
        """Rows of bytes as blocks."""
        return rows.reshape(len(rows), rows.shape[1] // self.size, self.size)


def type_name(kind: int) -> str:
    """llama.cpp's name of a type."""
    return _NAMES.get(kind, f"id {kind}")


def decode_rows(kind: int, rows: Array) -> Array | QuantizedMatrix:
    """Decodes rows of bytes into floats or a quantized matrix, [row, element]."""
    block = BLOCKS[kind]
    blocks = block.split(rows)
    if block.scales is None:
        return block.read(blocks)
    found = block.scales(blocks)
    return QuantizedMatrix(block.read(blocks), found.scales, None, found.offsets, block.bits)


def deferred_rows(kind: int, rows: Array) -> Deferred | QuantizedMatrix:
    """As decode_rows(), of mapped rows that are decoded when they are read; scales at once."""
    block = BLOCKS[kind]

    def read(part: Array) -> Array:
        decoded = _read_in_chunks(block.read, block.split(part))
        # Views of the mapping would read the file again.
        if np.may_share_memory(decoded, part):
            decoded = decoded.copy()
        release_pages(part)
        return decoded

    deferred = Deferred.of(rows).map("decoded", read)
    if block.scales is None:
        return deferred
    found = _scales_of(block.scales, block.split(rows))
    release_pages(rows)
    return QuantizedMatrix(deferred, found.scales, None, found.offsets, block.bits)


_CHUNK_BYTES = 1 << 18  # the allocator keeps arrays of this size, whose pages are then known


def _ranges(blocks: Array, max_bytes: int) -> list[Array]:
    """The rows of blocks in ranges of about `max_bytes`, at least one."""
    step = max(1, len(blocks) * max_bytes // max(1, blocks.nbytes))
    return [blocks[start : start + step] for start in range(0, max(1, len(blocks)), step)]


def _read_in_chunks(read: Callable[[Array], Array], blocks: Array) -> Array:
    """The decoded blocks, computed by ranges of rows whose temporaries stay in the CPU's caches."""
    found = [read(part) for part in _ranges(blocks, _CHUNK_BYTES)]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _scales_of(scales: Callable[[Array], Scales], blocks: Array) -> Scales:
    """The scales of all blocks, computed by several threads in ranges of rows."""

    def read(part: Array) -> Scales:
        return _joined([scales(chunk) for chunk in _ranges(part, _CHUNK_BYTES)])

    parts = _ranges(blocks, BLOCK_BYTES)
    if len(parts) == 1:
        return read(blocks)
    with ThreadPoolExecutor(THREADS) as pool:
        return _joined(list(pool.map(read, parts)))


def _joined(found: Sequence[Scales]) -> Scales:
    """The scales of consecutive ranges of rows."""
    if len(found) == 1:
        return found[0]
    offsets = [part.offsets for part in found if part.offsets is not None]
    return Scales(
        np.concatenate([part.scales for part in found]),
        np.concatenate(offsets) if offsets else None,
    )


def _flat(values: Array) -> Array:
    """[row, block, element] as [row, element]."""
    return values.reshape(len(values), -1)


def _bytes_from(blocks: Array, at: int, count: int) -> Array:
    """`count` bytes from byte `at` of each block, uint8 [row, byte]. A block is copied as one
    element of an opaque type: NumPy's copy of short runs of bytes is several times slower.
    """
    run = np.dtype((np.void, count))
    field = np.dtype(
        {"names": ["run"], "formats": [run], "offsets": [at], "itemsize": blocks.shape[2]}
    )
    whole: Array = np.ascontiguousarray(blocks).reshape(-1).view(field)
    return whole["run"].copy().view(np.uint8).reshape(len(blocks), -1)


def _floats(dtype: str) -> Callable[[Array], Array]:
    return lambda blocks: _flat(blocks).view(dtype)


def _bfloat16(blocks: Array) -> Array:
    return _flat(blocks).view(DType.BF16.numpy)


def _fp16(blocks: Array, at: int) -> Array:
    """The fp16 value at byte `at` of each block, [row, block]."""
    return _bytes_from(blocks, at, 2).view("<f2")


def _fp16_scale(blocks: Array) -> Scales:
    """A scale at the start of each block."""
    return Scales(_fp16(blocks, 0))


def _fp32(blocks: Array, at: int) -> Array:
    """The fp16 value at byte `at` of each block, as float32 [row, block, 1]."""
    return _fp16(blocks, at).astype(np.float32)[..., None]


# The low nibbles of both bytes of uint16 lanes, and where the second of them goes.
_FIRST, _SECOND = np.uint64(0x000F000F000F000F), np.uint64(0x00F000F000F000F0)
_NIBBLE = np.uint64(4)


def _packed_nibbles(packed: Array, width: int) -> Array:
    """Bytes [row, byte] of which runs of `width` have elements in their low nibbles, followed by as
    many in their high ones, packed as by pack_int4() [row, byte]. Overwrites its input.

    Four uint16 lanes are computed at once; the runs are interleaved as elements of an opaque type.
    """
    words = packed.reshape(-1).view("<u8")
    low = words & _FIRST
    words >>= _NIBBLE
    low |= words & _SECOND
    high = words & _FIRST
    words >>= _NIBBLE
    words &= _SECOND
    high |= words
    run = np.dtype((np.void, width // 2))
    interleaved = np.empty((packed.size // width, 2), run)
    for i, lanes in enumerate((low, high)):
        interleaved[:, i] = lanes.view("<u2").astype(np.uint8).view(run)
    return interleaved.view(np.uint8).reshape(packed.shape)


def _q4_0(blocks: Array) -> Array:
    """An fp16 scale, then 16 bytes: byte j has elements j and j + 16, each with bias 8."""
    return _packed_nibbles(_bytes_from(blocks, 2, 16), 16)


def _q5_0(blocks: Array) -> Array:
    """An fp16 scale, 4 bytes of the elements' fifth bits, then 16 bytes as in Q4_0; bias 16."""
    high = np.unpackbits(blocks[:, :, 2:6], axis=2, bitorder="little")
    packed = blocks[:, :, 6:]
    biased = np.concatenate([packed & 15, packed >> 4], axis=2) | high << 4
    return _flat(biased.astype(np.int8) - 16)


def _q8_0(blocks: Array) -> Array:
    """An fp16 scale, then 32 int8 values."""
    return _bytes_from(blocks, 2, 32).view(np.int8)


def _q6_k(blocks: Array) -> Array:
    """128 bytes of low 4 bits, 64 bytes of high 2 bits, 16 int8 scales of 16 elements each, and an
    fp16 scale of the block."""
    count = blocks.shape[:2]
    low, high = blocks[:, :, :128].reshape(*count, 2, 64), blocks[:, :, 128:192]
    high = high.reshape(*count, 2, 1, 32) >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    low = np.concatenate([low & 15, low >> 4], axis=3).reshape(*count, 2, 4, 32)
    return _flat((low | high << 4).astype(np.int8) - 32)


def _q6_k_scales(blocks: Array) -> Scales:
    scales = blocks[:, :, 192:208].view(np.int8).astype(np.float32)
    return Scales(_flat(scales * _fp32(blocks, 208)))


def _q4_k(blocks: Array) -> Array:
    """Scales and minima, then 4 bits per element: runs of 32 bytes have a group in their low
    nibbles, the next in their high ones."""
    return _packed_nibbles(_bytes_from(blocks, 16, 128), 32)


def _q5_k(blocks: Array) -> Array:
    """Scales and minima, 32 bytes of fifth bits (bit i: group i), then low 4 bits."""
    high = blocks[:, :, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    runs = blocks[:, :, 48:].reshape(*blocks.shape[:2], 4, 32)
    low = np.stack([runs & 15, runs >> 4], axis=3).reshape(*blocks.shape[:2], 8, 32)
    steps: Array = np.bitwise_or(low, high << 4).astype(np.int8) - np.int8(16)
    return steps.reshape(len(steps), -1)


def _k_quant_scales(middle: int) -> Callable[[Array], Scales]:
    """A block starts with two fp16 factors, of its scales and of its minima, then 8 scales and 8
    minima of 6 bits each, of unsigned steps.

    Codes are steps minus `middle`, the center of their range; offsets are the float value of
    `middle`. These are smaller than the minima, so that rounding them has a smaller error.
    """

    def read(blocks: Array) -> Scales:
        head = _bytes_from(blocks, 0, 16).view("<u4").reshape(-1, 4)
        # Of four scales or minima each: 6 bits of the first four and the high bits of the others.
        first, second, third = (np.ascontiguousarray(head[:, word]) for word in (1, 2, 3))
        factors = np.ascontiguousarray(head[:, 0]).view("<f2").astype(np.float32).reshape(-1, 2)
        scales = _six_bits(first, third) * factors[:, :1]
        minima = _six_bits(second, third >> np.uint32(4)) * factors[:, 1:]
        shape = (len(blocks), -1)
        return Scales(scales.reshape(shape), (middle * scales - minima).reshape(shape))

    return read


def _six_bits(low: Array, high: Array) -> Array:
    """Eight values of 6 bits per block: bytes of `low`, then low nibbles of `high` with the two
    high bits of `low`. From uint32 [block], uint8 [block, 8]."""
    values = np.empty((len(low), 2), np.uint32)
    values[:, 0] = low & np.uint32(0x3F3F3F3F)
    values[:, 1] = high & np.uint32(0x0F0F0F0F) | low >> np.uint32(2) & np.uint32(0x30303030)
    return values.view(np.uint8)


BLOCKS = {
    0: Block(1, 4, _floats("<f4")),
    1: Block(1, 2, _floats("<f2")),
    2: Block(32, 18, _q4_0, 4, _fp16_scale),
    6: Block(32, 22, _q5_0, 8, _fp16_scale),
    8: Block(32, 34, _q8_0, 8, _fp16_scale),
    12: Block(256, 144, _q4_k, 4, _k_quant_scales(8)),
    13: Block(256, 176, _q5_k, 8, _k_quant_scales(16)),
    14: Block(256, 210, _q6_k, 8, _q6_k_scales),
    30: Block(1, 2, _bfloat16),
}
