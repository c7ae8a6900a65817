"""Dtype conversion."""

from typing import Any

from numpy.typing import NDArray

from spec_model.stored_float import float_format
from spec_model.vocabulary import DType


def to_dtype(x: NDArray[Any], dtype: str) -> NDArray[Any]:
    """x in another dtype: floats truncate to integers, nonzero is true. Unchanged for floats
    that NumPy does not have: the caller rounds."""
    target = DType(dtype)
    return x if float_format(target) is not None else x.astype(target.numpy)
