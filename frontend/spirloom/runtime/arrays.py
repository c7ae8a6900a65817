"""Converts call arguments to arrays: dtype, bounds, layout, order. Zero-copy array bindings."""

from __future__ import annotations

import ctypes
import mmap
import operator
import sys
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spirloom.runtime.errors import InvalidArgument, WrongType
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.tensors import TensorInfo

Array = npt.NDArray[Any]


def is_torch(value: object) -> bool:
    """Whether the value is a torch tensor. Does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def to_torch(array: Array) -> Any:
    """A torch tensor that shares the array's memory."""
    torch = sys.modules["torch"]
    if array.dtype.names:  # a type that NumPy does not have: its bytes under its name
        (name,) = array.dtype.names
        codes = array.view(f"i{array.itemsize}")
        return torch.from_numpy(codes).view(getattr(torch, name))
    return torch.from_numpy(array)


def to_array(value: object, info: TensorInfo) -> Array:
    """Converts `value` to a C-contiguous array of the input's dtype.

    Copies only if necessary. Elements of a wider dtype are converted if all are in range. Raises
    WrongType for another kind of dtype, InvalidArgument for an element out of the dtype's range or
    the input's bounds.
    """
    array = value if type(value) is np.ndarray else _array_of(value, info)
    if array.dtype != info.dtype:
        array = _converted(array, info, value)
    if (info.min, info.max) != (None, None) and not info.dtype.names:
        _check_bounds(array, info)
    return array if array.flags.c_contiguous else array.copy(order="C")


def _array_of(value: Any, info: TensorInfo) -> Array:
    try:
        if is_torch(value):
            return _shared(value, info)
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise WrongType(
            f"Input '{info.name}' requires an array of {info.dtype} in host memory; "
            f"a {type(value).__name__} cannot be converted: {error}"
        ) from error


def _shared(tensor: Any, info: TensorInfo) -> Array:
    """An array that shares the tensor's memory, also if the tensor requires a gradient."""
    if str(tensor.dtype).removeprefix("torch.") in (info.dtype.names or ()):
        torch = sys.modules["torch"]
        integer = torch.int8 if info.dtype.itemsize == 1 else torch.int16
        codes: Array = tensor.detach().view(integer).numpy()
        return codes.view(info.dtype)
    try:
        array: Array = tensor.numpy()
    except RuntimeError:
        array = tensor.detach().resolve_conj().resolve_neg().numpy()
    return array


def _converted(array: Array, info: TensorInfo, value: object) -> Array:
    """Converts an array made of `value` to the input's dtype. Python int literals are accepted for
    float inputs."""
    is_literal = isinstance(value, int | float | list)
    kind, expected = array.dtype.kind, info.dtype.kind
    if expected in "iu" and kind in "iu":
        return _narrowed(array, info)
    if expected == "f" and (kind == "f" or (is_literal and kind in "iu")):
        return _rounded(array, info)
    if array.dtype == info.dtype:
        return array
    if info.dtype.names:
        return _codes(array, info, info.dtype.names[0])
    if kind in "SU":
        raise WrongType(
            f"Input '{info.name}' requires an array of {info.dtype}; the value has dtype "
            f"{array.dtype}, which is not numeric."
        )
    what, convert = "array", f"array.astype('{info.dtype}')"
    if is_torch(value):
        what, convert = "tensor", f"tensor.to(torch.{info.dtype})"
    raise WrongType(
        f"Input '{info.name}' has dtype {info.dtype}; the {what} has dtype {array.dtype}. "
        f"Convert it: {convert}."
    )


def _codes(array: Array, info: TensorInfo, name: str) -> Array:
    """An array of ml_dtypes' type of this name, as the input's dtype."""
    if array.dtype.name == name:
        return array.view(info.dtype)
    raise WrongType(
        f"Input '{info.name}' has dtype {name}; the array has dtype {array.dtype}. Pass a torch "
        f"tensor of torch.{name}, an array of ml_dtypes.{name}, or the bits of the values: "
        f"bits.view(model.inputs[i].dtype)."
    )


def _narrowed(array: Array, info: TensorInfo) -> Array:
    """Converts integers to another width. InvalidArgument if an element is out of range."""
    if np.can_cast(array.dtype, info.dtype):
        return array.astype(info.dtype)
    narrow = array.astype(info.dtype)
    invalid = (narrow != array) | ((narrow < 0) != (array < 0))
    _check_all(array, invalid, info, f"is out of the range of {info.dtype}, the input's dtype.")
    return narrow


def _rounded(array: Array, info: TensorInfo) -> Array:
    """Converts floats to another width. InvalidArgument if a finite element would overflow."""
    with np.errstate(over="ignore"):
        rounded = array.astype(info.dtype)
    invalid = np.isinf(rounded) & np.isfinite(array)
    _check_all(array, invalid, info, f"is out of the range of {info.dtype}, the input's dtype.")
    return rounded


def _check_bounds(array: Array, info: TensorInfo) -> None:
    if array.dtype.kind == "b":
        return
    low = -np.inf if info.min is None else info.min
    high = np.inf if info.max is None else info.max
    valid = (array >= low) & (array <= high)  # NaN is invalid
    bounds = f"is not between {low} and {high}, the bounds that the model was "
    _check_all(array, ~valid, info, bounds + "imported with (spirloom import --range).")


def _check_all(array: Array, invalid: npt.NDArray[np.bool_], info: TensorInfo, why: str) -> None:
    """Raises InvalidArgument for the first `invalid` element, if any."""
    if invalid.any():
        i = int(np.argmax(invalid))
        raise InvalidArgument(f"Element {i} ({array.flat[i]}) of input '{info.name}' {why}")


Inputs = Sequence[Any] | Mapping[str, Any]


class Named(Protocol):
    """An input or output of a model."""

    @property
    def name(self) -> str:
        """The name of the argument."""


def in_order(
    infos: Sequence[Named],
    given: Sequence[Any],
    named: Mapping[str, Any],
    kind: str = "input",
) -> Sequence[Any]:
    """Binds positional and named arguments: returns one value per tensor, in order.

    Raises InvalidArgument for too many arguments, an unknown or duplicate name, and missing
    arguments. `kind`, "input" or "output", is used in messages.
    """
    if not named and len(given) == len(infos):
        return given
    names = [info.name for info in infos]
    unknown = [name for name in named if name not in names]
    twice = [name for name in names[: len(given)] if name in named]
    missing = [name for name in names[len(given) :] if name not in named]
    listed = f"the model has {len(names)} {kind}s ({', '.join(map(str, infos))})"
    if len(given) > len(names):
        raise InvalidArgument(f"The call passes {len(given)} {kind}s; {listed}.")
    if unknown:
        raise InvalidArgument(f"Unknown {kind} '{unknown[0]}'; {listed}.")
    if twice:
        raise InvalidArgument(
            f"{kind.capitalize()} '{twice[0]}' is passed both by position and by name."
        )
    if missing:
        raise InvalidArgument(f"{kind.capitalize()} '{', '.join(missing)}' is missing; {listed}.")
    return [*given, *(named[name] for name in names[len(given) :])]


def values_of(infos: Sequence[Named], given: Inputs, kind: str = "input") -> Sequence[Any]:
    """Binds arguments of a sequence, or of a mapping by name; otherwise as in_order()."""
    if isinstance(given, Mapping):
        return in_order(infos, (), given, kind)
    return in_order(infos, given, {}, kind)


def index_of(kind: str, infos: Sequence[Named], which: int | str) -> int:
    """The index of an input or output, `kind`, given by name or index. Raises InvalidArgument."""
    names = [info.name for info in infos]
    index = names.index(which) if isinstance(which, str) and which in names else which
    if not isinstance(index, int) or not 0 <= index < len(infos):
        known = ", ".join(names)
        raise InvalidArgument(f"The model has no {kind} {which!r}; it has: {known}.")
    return index


def integer(value: object, what: str) -> int:
    """The value as an int. WrongType for another type, also for a float or a bool."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise WrongType(f"{what} ({value!r}) is not an integer.") from None


def outputs_to_fill(infos: Sequence[TensorInfo], given: Sequence[object]) -> list[Array]:
    """The memory of arrays or torch tensors for outputs. dtype and shape must match the outputs."""
    return [array_of(value, info, "output") for value, info in zip(given, infos, strict=True)]


def array_of(value: Any, info: TensorInfo, kind: str) -> Array:
    """An array over the memory of an array or torch tensor that has the dtype and shape of `info`.

    `kind` is "input" or "output"; arrays for outputs must be writeable. Raises WrongType for
    another dtype, InvalidArgument for another shape or layout.
    """
    array = _shared(value, info) if is_torch(value) else value
    name = f"{kind} '{info.name}'"
    if not isinstance(array, np.ndarray) or array.dtype != info.dtype:
        found = array.dtype if isinstance(array, np.ndarray) else type(value).__name__
        raise WrongType(f"The array for {name} has type {found}; expected {info.dtype}.")
    if array.shape != info.shape:
        raise InvalidArgument(
            f"The array for {name} has shape {list(array.shape)}; expected {list(info.shape)}."
        )
    if not array.flags.c_contiguous or not (array.flags.writeable or kind == "input"):
        required = "C-contiguous" if kind == "input" else "C-contiguous and writeable"
        raise InvalidArgument(f"The array for {name} must be {required}.")
    return array


def page_aligned(shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
    """A page-aligned array of zeros for Model.bind_input() and bind_output()."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    kind, count = np.dtype(dtype), prod(sizes)
    pages = mmap.mmap(-1, max(count * kind.itemsize, 1))
    return np.frombuffer(pages, kind, count).reshape(sizes)


class BoundArrays(dict[tuple[str, int], Array]):
    """Arrays bound to inputs and outputs, keyed by "input" or "output" and index."""

    def bind(
        self, library: Native, model: Handle, kind: str, i: int, value: Any, info: TensorInfo
    ) -> None:
        """Binds an array, or unbinds with None. Raises InvalidArgument and WrongType.

        The array is kept alive while it is bound and while pending runs hold the model.
        """
        array = None if value is None else array_of(value, info, kind)
        address = None if array is None else _address(array, info, kind)
        size = 0 if array is None else -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        library.call(f"model_bind_{kind}_memory", model.value, i, address, size)
        if array is None:
            self.pop((kind, i), None)
        else:
            self[kind, i] = array
        model.keeps = tuple(self.values())

    def free(self, kind: str, infos: Sequence[TensorInfo]) -> Sequence[TensorInfo]:
        """The tensors that are not bound: those that calls pass and return."""
        return [info for i, info in enumerate(infos) if (kind, i) not in self] if self else infos

    def merged(self, kind: str, others: Sequence[Any]) -> list[Any]:
        """One value per tensor: the bound arrays, and `others` for the unbound tensors."""
        found = list(others)
        for i in sorted(index for own, index in self if own == kind):
            found.insert(i, self[kind, i])
        return found

    def sizes(self, kind: str, infos: Sequence[TensorInfo]) -> list[tuple[None, int]]:
        """The size in bytes that calls pass for each tensor; 0 for bound ones."""
        return [(None, 0 if (kind, i) in self else t.nbytes) for i, t in enumerate(infos)]

    def copy(self) -> BoundArrays:
        """A shallow copy."""
        return BoundArrays(self)


def _address(array: Array, info: TensorInfo, kind: str) -> ctypes.c_void_p:
    address = array.__array_interface__["data"][0]
    if array.nbytes == 0:
        raise InvalidArgument(f"The {kind} '{info.name}' has no elements and cannot be bound.")
    if address % mmap.PAGESIZE:
        raise InvalidArgument(
            f"The array for {kind} '{info.name}' is at address {address}, which is not a multiple "
            f"of the page size ({mmap.PAGESIZE}). Allocate it with "
            "spirloom.runtime.page_aligned()."
        )
    return ctypes.c_void_p(address)
