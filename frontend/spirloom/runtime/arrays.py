"""What callers pass becomes arrays that the library can copy from: dtype, bounds, layout."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from spirloom.runtime.errors import InvalidArgument, WrongType
from spirloom.runtime.tensors import TensorInfo

Array = npt.NDArray[Any]

_UNBOUNDED = (-(2**63), 2**63 - 1)


def is_torch(value: object) -> bool:
    """Whether it is a torch tensor; torch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_torch(array: Array) -> Any:
    """A torch tensor over the array's memory."""
    return sys.modules["torch"].from_numpy(array)


def to_array(value: object, info: TensorInfo) -> Array:
    """An array with the elements of `value` for an input: C-contiguous, of the input's dtype.

    No copy if `value` is that already. Numbers of a wider dtype are taken if they fit. WrongType
    for another kind of numbers; InvalidArgument for one that does not fit, or beyond the bounds.
    """
    array = value if type(value) is np.ndarray else _array_of(value, info)
    if array.dtype != info.dtype:
        array = _converted(array, info, isinstance(value, int | float | list))
    if (info.least, info.greatest) != _UNBOUNDED:
        _check_bounds(array, info)
    return array if array.flags.c_contiguous else array.copy(order="C")


def _array_of(value: Any, info: TensorInfo) -> Array:
    try:
        if is_torch(value):
            return _shared(value)
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise WrongType(
            f"Input '{info.name}' wants an array in the host's memory, of {info.dtype}, "
            f"not this {type(value).__name__}: {error}"
        ) from error


def _shared(tensor: Any) -> Array:
    """A tensor's memory; one that requires a gradient gives it to nobody."""
    try:
        array: Array = tensor.numpy()
    except RuntimeError:
        array = tensor.detach().resolve_conj().resolve_neg().numpy()
    return array


def _converted(array: Array, info: TensorInfo, is_literal: bool) -> Array:
    """In the input's dtype. Literals of Python are as wide as NumPy makes them: 1 may be 1.0."""
    given, wanted = array.dtype.kind, info.dtype.kind
    if wanted in "iu" and given in "iu":
        return _narrowed(array, info)
    if wanted == "f" and (given == "f" or (is_literal and given in "iu")):
        return _rounded(array, info)
    if array.dtype == info.dtype:
        return array
    raise WrongType(
        f"Input '{info.name}' is {info.dtype}, not {array.dtype}; "
        f"convert it: array.astype('{info.dtype}')."
    )


def _narrowed(array: Array, info: TensorInfo) -> Array:
    """Integers of another width, all of which fit."""
    if np.can_cast(array.dtype, info.dtype):
        return array.astype(info.dtype)
    narrow = array.astype(info.dtype)
    wrong = (narrow != array) | ((narrow < 0) != (array < 0))
    _refuse(array, wrong, info, f"does not fit {info.dtype}, in which the model computes.")
    return narrow


def _rounded(array: Array, info: TensorInfo) -> Array:
    """Floats of another width; none becomes infinite that was not."""
    with np.errstate(over="ignore"):
        rounded = array.astype(info.dtype)
    wrong = np.isinf(rounded) & np.isfinite(array)
    _refuse(array, wrong, info, f"does not fit {info.dtype}, in which the model computes.")
    return rounded


def _check_bounds(array: Array, info: TensorInfo) -> None:
    if array.dtype.kind == "b":
        return
    inside = (array >= info.least) & (array <= info.greatest)  # a NaN is outside
    bounds = f"is not between {info.least} and {info.greatest}, the bounds that the model was "
    _refuse(array, ~inside, info, bounds + "imported with (spirloom import --range).")


def _refuse(array: Array, wrong: npt.NDArray[np.bool_], info: TensorInfo, why: str) -> None:
    """InvalidArgument that names the first element that is `wrong`, if any is."""
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidArgument(f"Element {i} ({array.flat[i]}) of input '{info.name}' {why}")
