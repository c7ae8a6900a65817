"""Normalization."""

import numpy as np
from numpy.typing import NDArray

from ..elementwise.elementwise import activate

Array = NDArray[np.float64]


def layer_norm(
    x: Array, normalized_shape: list[int], weight: Array | None, bias: Array | None, eps: float
) -> Array:
    """Layer norm over the last dims, with the biased variance."""
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    y = (x - x.mean(axis=dims, keepdims=True)) / np.sqrt(x.var(axis=dims, keepdims=True) + eps)
    if weight is not None:
        y = y * weight
    return np.asarray(y if bias is None else y + bias)


def batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    eps: float,
) -> Array:
    """Batch norm per channel (dim 1), with the running statistics."""

    def per_channel(v: Array) -> Array:
        return v.reshape(-1, *[1] * (x.ndim - 2))

    y = (x - per_channel(running_mean)) / np.sqrt(per_channel(running_var) + eps)
    if weight is not None:
        y = y * per_channel(weight)
    return np.asarray(y if bias is None else y + per_channel(bias))


def group_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    group: int,
    eps: float,
    activation: int = 0,
    act_min: float = 0.0,
    act_max: float = 0.0,
) -> Array:
    """Group norm per image, with the biased variance."""
    if x.size == 0:
        return x
    rows = x.reshape(x.shape[0], group, -1)
    rows = (rows - rows.mean(axis=2, keepdims=True)) / np.sqrt(
        rows.var(axis=2, keepdims=True) + eps
    )
    y = rows.reshape(x.shape)
    per_channel = (-1, *[1] * (x.ndim - 2))
    if weight is not None:
        y = y * weight.reshape(per_channel)
    y = y if bias is None else y + bias.reshape(per_channel)
    return activate(y, activation, act_min, act_max)


def rms_norm(x: Array, normalized_shape: list[int], weight: Array | None, eps: float) -> Array:
    """RMS norm over the last dims."""
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    y = x / np.sqrt((x * x).mean(axis=dims, keepdims=True) + eps)
    return np.asarray(y if weight is None else y * weight)


def instance_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: None,
    running_var: None,
    use_input_stats: bool,
    eps: float,
    activation: int = 0,
    act_min: float = 0.0,
    act_max: float = 0.0,
) -> Array:
    """Instance norm: group norm with one channel per group."""
    return group_norm(x, weight, bias, x.shape[1], eps, activation, act_min, act_max)


def local_response_norm(
    x: Array, size: int, before: int, alpha: float, beta: float, k: float
) -> Array:
    """Local response norm over `size` channels, `before` of them below the current one."""
    squares = np.zeros((x.shape[0], x.shape[1] + size - 1, *x.shape[2:]))
    squares[:, before : before + x.shape[1]] = x * x
    mean = sum(squares[:, d : d + x.shape[1]] for d in range(size)) / size
    return np.asarray(x / (k + alpha * mean) ** beta)


def row_moments(x: Array, count: int, splits: int) -> Array:
    """Mean and sum of squared deviations of each part of each row."""
    length = (-(-count // splits) + 3) // 4 * 4
    moments = np.zeros((x.size // count, splits, 2))
    for row, values in enumerate(x.reshape(-1, count)):
        for part in range(splits):
            v = values[part * length : (part + 1) * length]
            if v.size:
                moments[row, part] = v.mean(), ((v - v.mean()) ** 2).sum()
    return moments


def softmax_parts(x: Array, count: int, inner: int, splits: int) -> Array:
    """Maximum and sum of exponentials of each part of the rows of x as [outer, count, inner]."""
    length = -(-count // splits)
    rows = x.reshape(-1, count, inner)
    parts = np.zeros((len(rows), splits, inner, 2))
    parts[..., 0] = -np.inf
    for part in range(splits):
        v = rows[:, part * length : (part + 1) * length]
        if v.size:
            top = v.max(1)
            finite = np.where(top == -np.inf, 0, top)
            parts[:, part] = np.stack([top, np.exp(v - finite[:, None]).sum(1)], -1)
    return parts
