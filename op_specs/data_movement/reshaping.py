"""Views, padding, im2col and other data movement."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def squeeze(x: Array, dim: list[int]) -> Array:
    """Removes those of the dims that have size 1."""
    return np.squeeze(x, axis=tuple(d for d in dim if x.shape[d] == 1))


def flatten(x: Array, start_dim: int, end_dim: int) -> Array:
    """Merges the dims from start_dim to end_dim; a scalar becomes a vector of one element."""
    if x.ndim == 0:
        return x.reshape(1)
    first, last = start_dim % x.ndim, end_dim % x.ndim
    merged = int(np.prod(x.shape[first : last + 1]))
    return x.reshape(*x.shape[:first], merged, *x.shape[last + 1 :])


def slice_dim(x: Array, dim: int, start: int, end: int, step: int) -> Array:
    """x[start:end:step] along one dim."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def pixel_shuffle(x: Array, upscale_factor: int) -> Array:
    """[C r², H, W] to [C, H r, W r]."""
    r = upscale_factor
    *batch, c, h, w = x.shape
    parts = x.reshape(-1, c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(*batch, c // (r * r), h * r, w * r)


def constant_pad_nd(x: Array, pad: list[int], value: float) -> Array:
    """Constant padding; negative padding crops. `pad` lists the last dim first."""
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2)
    pairs += list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    cropped = x[
        tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    ]
    return np.pad(cropped, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)


def pixel_unshuffle(x: Array, downscale_factor: int) -> Array:
    """[C, H r, W r] to [C r², H, W]."""
    r = downscale_factor
    *batch, c, h, w = x.shape
    parts = x.reshape(-1, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(*batch, c * r * r, h // r, w // r)


def channel_shuffle(x: Array, groups: int) -> Array:
    """Interleaves the channels of the groups."""
    n, c, *size = x.shape
    return x.reshape(n, groups, c // groups, *size).swapaxes(1, 2).reshape(x.shape)


def unfold(x: Array, dimension: int, size: int, step: int) -> Array:
    """Sliding windows of `size` elements along `dimension`, with stride `step`, as the last dim."""
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)  # type: ignore[call-overload]
    every = (slice(None),) * (dimension % x.ndim) + (slice(None, None, step),)
    return np.asarray(windows[every])


def pad(x: Array, pad: list[int], mode: str, value: float) -> Array:
    """Reflection, replication or circular padding. `pad` lists the last dim first."""
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    for k in range(len(pad) // 2):
        dim, before, after = x.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        # Crop last: padding of the other side may copy elements that are cropped.
        pairs = [(0, 0)] * x.ndim
        pairs[dim] = (max(before, 0), max(after, 0))
        x = np.pad(x, pairs, mode=modes[mode])  # type: ignore[call-overload]
        x = slice_dim(x, dim, max(-before, 0), x.shape[dim] - max(-after, 0), 1)
    return x


def _window_indices(
    size: list[int], window: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> list[Array]:
    """Per direction, the indices [tap, window] in the padded image."""
    result = []
    for s, k, d, p, t in zip(size, window, dilation, padding, stride, strict=True):
        starts = np.arange(0, s + 2 * p - d * (k - 1), t)
        result.append(np.arange(k)[:, None] * d + starts[None])
    return result


def im2col(
    x: Array, kernel_size: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> Array:
    """The elements of each window as a column."""
    n, c, *size = x.shape
    rows, columns = _window_indices(size, kernel_size, dilation, padding, stride)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    elements = padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    return elements.reshape(n, c * rows.shape[0] * columns.shape[0], -1)


def col2im(
    x: Array,
    output_size: list[int],
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
) -> Array:
    """Adds the columns' elements at their pixels: the transpose of im2col."""
    rows, columns = _window_indices(output_size, kernel_size, dilation, padding, stride)
    c = x.shape[1] // (rows.shape[0] * columns.shape[0])
    padded = [s + 2 * p for s, p in zip(output_size, padding, strict=True)]
    y = np.zeros((x.shape[0], c, *padded))
    parts = x.reshape(
        x.shape[0], c, rows.shape[0], columns.shape[0], rows.shape[1], columns.shape[1]
    )
    every = slice(None)
    pixels: Any = (every, every, rows[:, None, :, None], columns[None, :, None])
    np.add.at(y, pixels, parts)
    (top, left), (height, width) = padding, output_size
    return y[:, :, top : top + height, left : left + width]


def _index_along(x: NDArray[Any], dim: int, index: int | slice) -> tuple[Any, ...]:
    return (*[slice(None)] * (dim % x.ndim), index)


def slice_scatter(
    x: NDArray[Any], src: NDArray[Any], dim: int, start: int, end: int, step: int
) -> NDArray[Any]:
    """x with x[start:end:step] along `dim` replaced by src."""
    y = x.copy()
    y[_index_along(x, dim, slice(start, end, step))] = src
    return y


def select_scatter(x: NDArray[Any], src: NDArray[Any], dim: int, index: int) -> NDArray[Any]:
    """x with x[index] along `dim` replaced by src."""
    y = x.copy()
    y[_index_along(x, dim, index)] = src
    return y


def diag_embed(x: NDArray[Any], offset: int, dim1: int, dim2: int) -> NDArray[Any]:
    """Matrices with the last dim of x as a diagonal."""
    size = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], size, size), x.dtype)
    index = np.arange(x.shape[-1])
    y[..., index + max(-offset, 0), index + max(offset, 0)] = x
    return y


def as_strided(
    x: NDArray[Any], size: list[int], stride: list[int], storage_offset: int
) -> NDArray[Any]:
    """y[p] = x.flat[storage_offset + sum(p * stride)]"""
    y = np.empty(size, x.dtype)
    for p in np.ndindex(*size):
        y[p] = x.flat[storage_offset + sum(i * s for i, s in zip(p, stride, strict=True))]
    return y


def strided_store(x: Array, src: Array, stride: list[int], storage_offset: int) -> Array:
    """x with src[p] at x.flat[storage_offset + sum(p * stride)]"""
    y = x.copy()
    for p in np.ndindex(*src.shape):
        y.flat[storage_offset + sum(i * s for i, s in zip(p, stride, strict=True))] = src[p]
    return y


def expand(x: Array, size: list[int]) -> Array:
    """Broadcasts dims of size 1; -1 keeps the size of a dim."""
    first = len(size) - x.ndim
    shape = [x.shape[d - first] if n == -1 else n for d, n in enumerate(size)]
    return np.broadcast_to(x, shape)
