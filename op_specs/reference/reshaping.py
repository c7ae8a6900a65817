"""Rearrangements that are more than one NumPy expression."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def squeeze(x: Array, dim: list[int]) -> Array:
    """Drops those of the dims that have size 1."""
    return np.squeeze(x, axis=tuple(d for d in dim if x.shape[d] == 1))


def flatten(x: Array, start_dim: int, end_dim: int) -> Array:
    """Makes the dims from start_dim to end_dim one; a scalar becomes a vector."""
    if x.ndim == 0:
        return x.reshape(1)
    first, last = start_dim % x.ndim, end_dim % x.ndim
    merged = int(np.prod(x.shape[first : last + 1]))
    return x.reshape(*x.shape[:first], merged, *x.shape[last + 1 :])


def slice_dim(x: Array, dim: int, start: int, end: int, step: int) -> Array:
    """Python's slice along one dim."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def pixel_shuffle(x: Array, upscale_factor: int) -> Array:
    """Moves blocks of r r channels into r x r pixels."""
    r = upscale_factor
    *batch, c, h, w = x.shape
    parts = x.reshape(-1, c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(*batch, c // (r * r), h * r, w * r)


def constant_pad_nd(x: Array, pad: list[int], value: float) -> Array:
    """Pads with a constant, or cuts off where negative; pad goes from the last dim to the first."""
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2)
    pairs += list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    kept = x[
        tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    ]
    return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)


def pixel_unshuffle(x: Array, downscale_factor: int) -> Array:
    """Moves r x r pixels into blocks of r r channels."""
    r = downscale_factor
    *batch, c, h, w = x.shape
    parts = x.reshape(-1, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(*batch, c * r * r, h // r, w // r)


def channel_shuffle(x: Array, groups: int) -> Array:
    """Deals the channels of all groups in turn."""
    n, c, *size = x.shape
    return x.reshape(n, groups, c // groups, *size).swapaxes(1, 2).reshape(x.shape)


def unfold(x: Array, dimension: int, size: int, step: int) -> Array:
    """Every step-th window of `size` elements along dim, as the last dim."""
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dimension)  # type: ignore[call-overload]
    every = (slice(None),) * (dimension % x.ndim) + (slice(None, None, step),)
    return np.asarray(windows[every])


def pad(x: Array, pad: list[int], mode: str, value: float) -> Array:
    """Pads with x's own elements; pad goes from the last dim to the first."""
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    for k in range(len(pad) // 2):
        dim, before, after = x.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        # Cutting comes last: what is cut off may be what the other side shows.
        pairs = [(0, 0)] * x.ndim
        pairs[dim] = (max(before, 0), max(after, 0))
        x = np.pad(x, pairs, mode=modes[mode])  # type: ignore[call-overload]
        x = slice_dim(x, dim, max(-before, 0), x.shape[dim] - max(-after, 0), 1)
    return x


def _window_places(
    size: list[int], window: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> list[Array]:
    """Per direction, [tap, window] the place in the padded image."""
    result = []
    for s, k, d, p, t in zip(size, window, dilation, padding, stride, strict=True):
        starts = np.arange(0, s + 2 * p - d * (k - 1), t)
        result.append(np.arange(k)[:, None] * d + starts[None])
    return result


def im2col(
    x: Array, kernel_size: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> Array:
    """Each window's elements as a column."""
    n, c, *size = x.shape
    rows, columns = _window_places(size, kernel_size, dilation, padding, stride)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    picked = padded[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    return picked.reshape(n, c * rows.shape[0] * columns.shape[0], -1)


def col2im(
    x: Array,
    output_size: list[int],
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
) -> Array:
    """The sum of the columns' elements at their places in the image."""
    rows, columns = _window_places(output_size, kernel_size, dilation, padding, stride)
    c = x.shape[1] // (rows.shape[0] * columns.shape[0])
    padded = [s + 2 * p for s, p in zip(output_size, padding, strict=True)]
    y = np.zeros((x.shape[0], c, *padded))
    parts = x.reshape(
        x.shape[0], c, rows.shape[0], columns.shape[0], rows.shape[1], columns.shape[1]
    )
    every = slice(None)
    places: Any = (every, every, rows[:, None, :, None], columns[None, :, None])
    np.add.at(y, places, parts)
    (top, left), (height, width) = padding, output_size
    return y[:, :, top : top + height, left : left + width]


def _slice_of(x: NDArray[Any], dim: int, part: int | slice) -> tuple[Any, ...]:
    return (*[slice(None)] * (dim % x.ndim), part)


def slice_scatter(
    x: NDArray[Any], src: NDArray[Any], dim: int, start: int, end: int, step: int
) -> NDArray[Any]:
    """x with a slice replaced."""
    y = x.copy()
    y[_slice_of(x, dim, slice(start, end, step))] = src
    return y


def select_scatter(x: NDArray[Any], src: NDArray[Any], dim: int, index: int) -> NDArray[Any]:
    """x with one place along dim replaced."""
    y = x.copy()
    y[_slice_of(x, dim, index)] = src
    return y


def diag_embed(x: NDArray[Any], offset: int, dim1: int, dim2: int) -> NDArray[Any]:
    """Matrices with the last dim of x on a diagonal."""
    size = x.shape[-1] + abs(offset)
    y = np.zeros((*x.shape[:-1], size, size), x.dtype)
    places = np.arange(x.shape[-1])
    y[..., places + max(-offset, 0), places + max(offset, 0)] = x
    return y


def as_strided(
    x: NDArray[Any], size: list[int], stride: list[int], storage_offset: int
) -> NDArray[Any]:
    """The elements at the places that an offset and steps name."""
    y = np.empty(size, x.dtype)
    for p in np.ndindex(*size):
        y[p] = x.flat[storage_offset + sum(i * step for i, step in zip(p, stride, strict=True))]
    return y


def expand(x: Array, size: list[int]) -> Array:
    """Repeats dims of size 1; -1 keeps a dim's size."""
    first = len(size) - x.ndim
    whole = [x.shape[d - first] if n == -1 else n for d, n in enumerate(size)]
    return np.broadcast_to(x, whole)
