"""Creation operators."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def arange(start: float, end: float, step: float, dtype: str) -> NDArray[Any]:
    """start, start + step, …, up to but excluding end.

    As in PyTorch, the length follows from the arguments as given; an integer result truncates
    start and step.
    """
    steps = np.arange(max(math.ceil((end - start) / step), 0))
    return steps * int(step) + int(start) if dtype == "i32" else steps * step + start
