"""Packed layouts of weights and activations; Winograd transforms."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spec_model.data_types import Kind
from spec_model.stored_float import encoded
from spec_model.vocabulary import dtypes_of

Array = NDArray[np.float64]


def pack_conv2d_weight(weight: Array, align: int, transposed: bool) -> Array:
    """[O, I, …] ([I, O, …] if transposed) to [O / 4, taps, I, 4]; pads O to 8 and I to `align`."""
    if transposed:
        weight = weight.swapaxes(0, 1)
    out, channels, *window = weight.shape
    pads = [(0, -out % 8), (0, -channels % align), (0, 0)]
    padded = np.pad(weight.reshape(out, channels, int(np.prod(window))), pads)
    blocks = padded.reshape(-1, 4, *padded.shape[1:])
    return blocks.transpose(0, 3, 2, 1)


def pack_filter_tiles(weight: Array) -> Array:
    """[O, I, …] to [O / 32, I / 32, taps, 32, 32]; pads O and I to 32."""
    out, channels, *window = weight.shape
    pads = [(0, -out % 32), (0, -channels % 32), (0, 0)]
    padded = np.pad(weight.reshape(out, channels, int(np.prod(window))), pads)
    tiles = padded.reshape(padded.shape[0] // 32, 32, padded.shape[1] // 32, 32, -1)
    return tiles.transpose(0, 2, 4, 1, 3)


def pack_linear_weight(weight: Array) -> Array:
    """[out, in…] to [out / 32, in, 32]; pads `out` to 32."""
    return pack_column_tiles(weight.reshape(len(weight), -1).T)


def pack_row_tiles(x: Array) -> Array:
    """[…, depth] to [rows / 32, depth / 4, 32, 4]; pads rows to 32."""
    depth = x.shape[-1]
    rows = int(np.prod(x.shape[:-1]))
    padded = np.pad(x.reshape(rows, depth), [(0, -rows % 32), (0, 0)])
    return padded.reshape(len(padded) // 32, 32, depth // 4, 4).transpose(0, 2, 1, 3)


def pack_column_tiles(x: Array) -> Array:
    """[depth, columns] to [columns / 32, depth, 32]; pads columns to 32."""
    depth, columns = x.shape
    padded = np.pad(x, [(0, 0), (0, -columns % 32)])
    return padded.reshape(depth, padded.shape[1] // 32, 32).transpose(1, 0, 2)


def pack_recurrent_weight(weight: Array, gates: int) -> Array:
    """[gates units, in] to [in, units, gates]; pads 2 or 3 gates to 4."""
    units, depth = len(weight) // gates, weight.shape[1]
    packed = weight.reshape(gates, units, depth).transpose(2, 1, 0)
    return np.pad(packed, [(0, 0), (0, 0), (0, 4 - gates if gates > 1 else 0)])


def winograd_weight(weight: Array) -> Array:
    """[O, I, 3, 3] to [O / 32, 16, I, 32]: G w Gᵀ per filter; pads I to 4 and O to 32."""
    transform = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    out, channels, *_ = weight.shape
    points = np.einsum("ir,ocrs,js->ijco", transform, weight, transform)
    pads = [(0, 0), (0, -channels % 4), (0, -out % 32)]
    padded = np.pad(points.reshape(16, channels, out), pads)
    return padded.reshape(16, padded.shape[1], -1, 32).transpose(2, 0, 1, 3)


def winograd_input(x: Array, padding: list[int], block: int) -> Array:
    """[N, C, H, W] to [tiles / block, 16, C, block]: Bᵀ d B of the 4x4 tiles d, with stride 2."""
    transform = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    images, channels, *size = x.shape
    edges = [(p, p + (n + 2 * p) % 2) for n, p in zip(size, padding, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *edges])
    rows, columns = (n // 2 - 1 for n in padded.shape[2:])
    elements = [
        [padded[:, :, r : r + 2 * rows - 1 : 2, s : s + 2 * columns - 1 : 2] for s in range(4)]
        for r in range(4)
    ]
    points = np.einsum("ir,rsnchw,js->ijcnhw", transform, np.array(elements), transform)
    tiles = points.reshape(16, channels, images * rows * columns)
    padded_tiles = np.pad(tiles, [(0, 0), (0, -channels % 4), (0, -tiles.shape[2] % block)])
    _, padded_channels, count = padded_tiles.shape
    return padded_tiles.reshape(16, padded_channels, count // block, block).transpose(2, 0, 1, 3)


def winograd_gemm(x: Array, weight: Array, padding: list[int], block: int) -> Array:
    """[tiles / block, 16, block, O]: one GEMM over the channels per point of the tiles."""
    tiles = winograd_input(x, padding, block)
    weights = winograd_weight(weight)
    points: Array = np.einsum("bpct,opcl->bptol", tiles, weights)
    return points.reshape(len(tiles), 16, block, len(weights) * 32)


def pack_quantized(weight: NDArray[Any], padding: int) -> NDArray[Any]:
    """[rows, bytes] to [rows / 32, bytes / 16, 32, 4]: four bytes per little-endian int32."""
    rows, columns = weight.shape
    padded = np.full((rows + -rows % 32, columns + -columns % 16), padding, np.uint8)
    padded[:rows, :columns] = weight & 255
    words: NDArray[Any] = np.ascontiguousarray(padded).view("<i4").astype(np.int64)
    return words.reshape(len(padded) // 32, 32, -1, 4).transpose(0, 2, 1, 3)


def pack_stored_floats(weight: NDArray[Any], exponent: int) -> NDArray[Any]:
    """`pack_quantized` of the codes of values, in the format with so many exponent bits."""
    rows = dtypes_of(Kind.STORED_FLOAT)
    (dtype,) = (dtype for dtype in rows if dtype.row.exponent == exponent)
    codes = np.ascontiguousarray(encoded(weight, dtype))
    return pack_quantized(codes.view(np.uint8).reshape(len(weight), -1), 0)


def pack_quantized_activations(
    x: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any], step: int, even_first: bool
) -> NDArray[Any]:
    """Quantizes rows […, depth] to int8, padded to `step`, four per little-endian int32.

    `even_first`: of each 8 values, the even ones precede the odd ones.
    """
    rows = x.reshape(-1, x.shape[-1])
    codes = np.rint(rows / scale.reshape(-1, 1)) + zero.reshape(-1, 1)
    padding = np.broadcast_to(zero.reshape(-1, 1), (len(rows), -rows.shape[1] % step))
    padded = np.concatenate([np.clip(codes, -128, 127), padding], axis=1)
    if even_first:
        padded = padded.reshape(len(rows), -1, 4, 2).swapaxes(2, 3).reshape(len(rows), -1)
    return _pack_int8x4(padded)


def pack_channels(x: NDArray[Any], zero: int, shape: list[int]) -> NDArray[Any]:
    """[n, g, c, i] to [n, g, c / 4, i], four int8 channels per int32; pads channels with `zero`."""
    last = x.reshape(shape).swapaxes(2, 3)
    padded = np.pad(last, [(0, 0)] * 3 + [(0, -shape[2] % 4)], constant_values=zero)
    return _pack_int8x4(padded).swapaxes(2, 3)


def pack_filters(weight: NDArray[Any], sizes: list[int], strides: list[int]) -> NDArray[Any]:
    """int8 filters to [o / 4, taps * c / 4 + 1, 4], followed by the sum of each filter.

    `sizes` and `strides` are those of filters, channels and taps.
    """
    out, channels, _ = sizes
    offsets = np.einsum("dijk,d->ijk", np.indices(sizes), strides)
    taps = weight.reshape(-1)[offsets].swapaxes(1, 2)
    words = _pack_int8x4(np.pad(taps, [(0, 0), (0, 0), (0, -channels % 4)]))
    sums = taps.reshape(out, -1).sum(1, keepdims=True)
    rows = np.pad(np.concatenate([words.reshape(out, -1), sums], 1), [(0, -out % 4), (0, 0)])
    return rows.reshape(-1, 4, rows.shape[1]).swapaxes(1, 2)


def _pack_int8x4(values: NDArray[Any]) -> NDArray[Any]:
    """Four int8 values of the last dim per little-endian int32."""
    packed: NDArray[Any] = np.ascontiguousarray(values.astype(np.int8)).view("<i4").astype(np.int64)
    return packed
