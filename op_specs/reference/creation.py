"""Tensors made of numbers."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def arange(start: float, end: float, step: float, dtype: str) -> NDArray[Any]:
    """start, start + step, … before end. PyTorch counts with the numbers as they are, but an
    integer result counts up from the whole part of start by the whole part of step."""
    steps = np.arange(max(math.ceil((end - start) / step), 0))
    return steps * int(step) + int(start) if dtype == "i32" else steps * step + start
