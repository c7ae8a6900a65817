"""What a case must give: the reference's result, rounded to the output's dtype."""

from __future__ import annotations

import numpy as np

from spirloom.casegen.values import CaseError
from spirloom.ir import Array, DType


def rounded(result: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The result as the op's output type has it. An integer output takes only whole numbers."""
    if result.dtype.kind not in "biuf":
        raise CaseError(f"The reference gives {_described(result)}, not numbers.")
    if result.shape != shape:
        raise CaseError(f"The reference gives the shape {result.shape}, the spec {shape}.")
    if dtype in (DType.F32, DType.F16):
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(result, dtype=dtype.numpy).reshape(shape)
    if result.dtype.kind == "f" and not np.array_equal(result, np.trunc(result)):
        raise CaseError(f"The reference gives fractions for an output of dtype {dtype}.")
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(result.astype(dtype.numpy)).reshape(shape)


def _described(result: Array) -> str:
    item = result.item() if result.dtype.kind == "O" and result.ndim == 0 else None
    return (
        f"an object of type {type(item).__name__}"
        if result.dtype.kind == "O"
        else (f"an array of {result.dtype}")
    )
