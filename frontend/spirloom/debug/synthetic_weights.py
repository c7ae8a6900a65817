"""Replaces weights by synthetic ones with the same statistics, so that a model can be shared.

Small constants, int32 and bool constants are kept: shapes, indices, masks and scales of which the
results depend in other ways than on weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spec_model.stored_float import decoded, encoded, float_format
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph, Tensor

KEPT_ELEMENTS = 64
_NARROW = (DType.I8, DType.U8)
Statistics = Mapping[str, Any]


def strip(graph: Graph) -> list[Statistics]:
    """Sets the weights of a graph to zeros, which compress to nothing, and returns their
    statistics, from which restore() makes synthetic ones.
    """
    found: list[Statistics] = []
    zeros: dict[int, Array] = {}
    for index, tensor in enumerate(graph.tensors()):
        if not _is_weight(tensor):
            continue
        data = tensor.data
        assert data is not None
        found.append({"tensor": index, **_statistics(data, tensor.dtype)})
        key = id(tensor.values)
        tensor.data = zeros.setdefault(key, np.zeros(data.shape, data.dtype))
    return found


def _is_weight(tensor: Tensor) -> bool:
    if not tensor.is_constant or np.prod(tensor.shape) <= KEPT_ELEMENTS:
        return False
    return tensor.dtype.is_float or tensor.dtype in _NARROW


def _statistics(data: Array, dtype: DType) -> Statistics:
    values = decoded(data, dtype) if float_format(dtype) is not None else data
    wide = np.asarray(values, np.float64)
    finite = wide[np.isfinite(wide)]
    if not finite.size:
        finite = np.zeros(1)
    return {
        "mean": float(finite.mean()),
        "std": float(finite.std()),
        "min": float(finite.min()),
        "max": float(finite.max()),
    }


def restore(graph: Graph, statistics: Sequence[Statistics]) -> None:
    """Sets the weights to random values with the statistics of strip(): normal floats and int8,
    uniform uint8. Equal files give equal weights. Raises ImportFailure for statistics of other
    tensors.
    """
    tensors = graph.tensors()
    for each in statistics:
        index = each.get("tensor")
        if not isinstance(index, int) or not 0 <= index < len(tensors):
            raise ImportFailure(f"The replay has statistics of a tensor {index}, which is missing.")
        tensor = tensors[index]
        if not _is_weight(tensor):
            raise ImportFailure(f"The replay has statistics of '{tensor.name}', no weight.")
        tensor.data = _synthetic(tensor, each, index)


def _synthetic(tensor: Tensor, statistics: Statistics, seed: int) -> Array:
    mean, std, low, high = (float(statistics[name]) for name in ("mean", "std", "min", "max"))
    random = np.random.RandomState(seed)  # its stream is the same in all versions of NumPy
    shape = tuple(int(size) for size in tensor.shape)
    if tensor.dtype is DType.U8:  # each byte may contain two packed integers
        return random.randint(int(low), int(high) + 1, shape).astype(np.uint8)
    values = np.clip(random.standard_normal(shape) * std + mean, low, high)
    if float_format(tensor.dtype) is not None:
        return encoded(values, tensor.dtype)
    if tensor.dtype is DType.I8:
        values = np.rint(values)
    return values.astype(tensor.dtype.numpy)
