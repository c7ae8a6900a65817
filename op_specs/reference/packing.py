"""The layouts that weights are packed into."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pack_conv2d_weight(weight: Array, align: int, transposed: bool) -> Array:
    """[O, I, …], transposed [I, O, …], to [O / 4, taps, I, 4], O padded to 8s, I to `align`s."""
    if transposed:
        weight = weight.swapaxes(0, 1)
    out, channels, *window = weight.shape
    pads = [(0, -out % 8), (0, -channels % align), (0, 0)]
    padded = np.pad(weight.reshape(out, channels, int(np.prod(window))), pads)
    fours = padded.reshape(-1, 4, *padded.shape[1:])
    return fours.transpose(0, 3, 2, 1)


def pack_linear_weight(weight: Array) -> Array:
    """[out, in…] to [out / 32, in, 32], `out` padded to a multiple of 32."""
    return pack_column_tiles(weight.reshape(len(weight), -1).T)


def pack_row_tiles(x: Array) -> Array:
    """[…, depth] to [rows / 32, depth / 4, 32, 4], rows padded to 32s."""
    depth = x.shape[-1]
    rows = int(np.prod(x.shape[:-1]))
    padded = np.pad(x.reshape(rows, depth), [(0, -rows % 32), (0, 0)])
    return padded.reshape(len(padded) // 32, 32, depth // 4, 4).transpose(0, 2, 1, 3)


def pack_column_tiles(x: Array) -> Array:
    """[depth, columns] to [columns / 32, depth, 32], columns padded to 32s."""
    depth, columns = x.shape
    padded = np.pad(x, [(0, 0), (0, -columns % 32)])
    return padded.reshape(depth, padded.shape[1] // 32, 32).transpose(1, 0, 2)


def pack_recurrent_weight(weight: Array, gates: int) -> Array:
    """[gates units, in] to [in, units, gates], of several gates 4."""
    units, depth = len(weight) // gates, weight.shape[1]
    packed = weight.reshape(gates, units, depth).transpose(2, 1, 0)
    return np.pad(packed, [(0, 0), (0, 0), (0, 4 - gates if gates > 1 else 0)])


def winograd_weight(weight: Array) -> Array:
    """[O, I, 3, 3] to [O / 32, 16, I, 32]: G w G^T of each filter; I padded to 4s, O to 32s."""
    transform = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    out, channels, *_ = weight.shape
    points = np.einsum("ir,ocrs,js->ijco", transform, weight, transform)
    pads = [(0, 0), (0, -channels % 4), (0, -out % 32)]
    padded = np.pad(points.reshape(16, channels, out), pads)
    return padded.reshape(16, padded.shape[1], -1, 32).transpose(2, 0, 1, 3)


def winograd_input(x: Array, padding: list[int], block: int) -> Array:
    """[N, C, H, W] to [tiles / block, 16, C, block]: B^T d B of the 4x4 pieces d, 2 apart."""
    transform = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    images, channels, *size = x.shape
    edges = [(p, p + (n + 2 * p) % 2) for n, p in zip(size, padding, strict=True)]
    padded = np.pad(x, [(0, 0), (0, 0), *edges])
    high, wide = (n // 2 - 1 for n in padded.shape[2:])
    pieces = [
        [padded[:, :, r : r + 2 * high - 1 : 2, s : s + 2 * wide - 1 : 2] for s in range(4)]
        for r in range(4)
    ]
    points = np.einsum("ir,rsnchw,js->ijcnhw", transform, np.array(pieces), transform)
    tiles = points.reshape(16, channels, images * high * wide)
    padded_tiles = np.pad(tiles, [(0, 0), (0, -channels % 4), (0, -tiles.shape[2] % block)])
    _, padded_channels, count = padded_tiles.shape
    return padded_tiles.reshape(16, padded_channels, count // block, block).transpose(2, 0, 1, 3)


def winograd_product(x: Array, weight: Array, padding: list[int], block: int) -> Array:
    """[tiles / block, 16, block, O]: at each point of each tile the sums over channels."""
    tiles = winograd_input(x, padding, block)
    weights = winograd_weight(weight)
    sums: Array = np.einsum("bpct,opcl->bptol", tiles, weights)
    return sums.reshape(len(tiles), 16, block, len(weights) * 32)


def pack_quantised(weight: NDArray[Any], padding: int) -> NDArray[Any]:
    """[rows, bytes] to [rows / 32, bytes / 16, 32, 4], four bytes a little-endian int32."""
    rows, columns = weight.shape
    padded = np.full((rows + -rows % 32, columns + -columns % 16), padding, np.uint8)
    padded[:rows, :columns] = weight & 255
    words: NDArray[Any] = np.ascontiguousarray(padded).view("<i4").astype(np.int64)
    return words.reshape(len(padded) // 32, 32, -1, 4).transpose(0, 2, 1, 3)


def pack_quantised_rows(
    x: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any], step: int, halves: bool
) -> NDArray[Any]:
    """[…, depth] in int8 of each row's scale, padded to `step`s, as little-endian int32."""
    rows = x.reshape(-1, x.shape[-1])
    numbers = np.rint(rows / scale.reshape(-1, 1)) + zero.reshape(-1, 1)
    ends = np.broadcast_to(zero.reshape(-1, 1), (len(rows), -rows.shape[1] % step))
    padded = np.concatenate([np.clip(numbers, -128, 127), ends], axis=1)
    if halves:
        padded = padded.reshape(len(rows), -1, 4, 2).swapaxes(2, 3).reshape(len(rows), -1)
    words: NDArray[Any] = np.ascontiguousarray(padded.astype(np.int8)).view("<i4").astype(np.int64)
    return words
