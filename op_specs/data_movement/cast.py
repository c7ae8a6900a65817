"""Dtype conversion."""

from typing import Any

from numpy.typing import NDArray

from spec_model.vocabulary import DType


def to_dtype(x: NDArray[Any], dtype: str) -> NDArray[Any]:
    """x in another dtype: floats truncate to integers, nonzero values are true."""
    return x.astype(DType(dtype).numpy)
