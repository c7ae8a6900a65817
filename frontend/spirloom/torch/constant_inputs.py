"""Inputs that options name, and those that --fix makes constants."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.ir import Array


def check_names(option: str, names: Collection[str], known: Collection[str]) -> None:
    """Raises ImportFailure for one that is no input."""
    for name in names:
        if name not in known:
            raise ImportFailure(f"--{option} {name}: there is no such input, only {sorted(known)}.")


def as_input(name: str, array: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """The array in the type of the input; ImportFailure if it is not of its shape and numbers."""
    if array.shape != shape:
        raise ImportFailure(
            f"--fix {name}: the file has shape {list(array.shape)}, and the input {list(shape)}."
        )
    if array.dtype.kind not in "biuf":
        raise ImportFailure(f"--fix {name}: the file has {array.dtype}, which are no numbers.")
    with np.errstate(all="ignore"):
        made = array.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(made, array):
        raise ImportFailure(f"--fix {name}: the input is of {dtype}, which the file's are not.")
    return made
