"""Dtype conversion."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMPY = {
    "f32": np.float32,
    "f16": np.float16,
    "i32": np.int32,
    "i8": np.int8,
    "u8": np.uint8,
    "b8": np.bool_,
}


def to_dtype(x: NDArray[Any], dtype: str) -> NDArray[Any]:
    """x in another dtype: floats truncate to integers, nonzero values are true."""
    return x.astype(_NUMPY[dtype])
