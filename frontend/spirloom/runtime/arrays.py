"""Arguments of a call as arrays: dtype, bounds, layout, order, and arrays bound without copies."""

from __future__ import annotations

import ctypes
import mmap
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


Inputs = Sequence[Any] | Mapping[str, Any]


class Named(Protocol):
    """An input or output of a model."""

    @property
    def name(self) -> str:
        """What callers know it by."""


def in_order(
    infos: Sequence[Named],
    given: Sequence[Any],
    named: Mapping[str, Any],
    kind: str = "input",
) -> Sequence[Any]:
    """One value for each tensor: those by position, then those by name.

    InvalidArgument for too many, for a name that there is not or that is given twice, and listing
    those that are missing. `kind` is the word for one.
    """
    if not named and len(given) == len(infos):
        return given
    names = [info.name for info in infos]
    unknown = [name for name in named if name not in names]
    twice = [name for name in names[: len(given)] if name in named]
    missing = [name for name in names[len(given) :] if name not in named]
    listed = f"the model takes {len(names)} ({', '.join(map(str, infos))})"
    if kind == "output":
        listed = listed.replace("takes", "gives")
    if len(given) > len(names):
        raise InvalidArgument(f"{len(given)} {kind}s are given; {listed}.")
    if unknown:
        raise InvalidArgument(f"There is no {kind} '{unknown[0]}'; {listed}.")
    if twice:
        raise InvalidArgument(f"{kind.capitalize()} '{twice[0]}' is given by position and by name.")
    if missing:
        raise InvalidArgument(f"{kind.capitalize()} '{', '.join(missing)}' is missing; {listed}.")
    return [*given, *(named[name] for name in names[len(given) :])]


def values_of(infos: Sequence[Named], given: Inputs, kind: str = "input") -> Sequence[Any]:
    """The same of a sequence, or of a mapping of names."""
    if isinstance(given, Mapping):
        return in_order(infos, (), given, kind)
    return in_order(infos, given, {}, kind)


def place_of(kind: str, infos: Sequence[Named], which: int | str) -> int:
    """The place of an input or output, `kind`, of a name or place. InvalidArgument if none is."""
    names = [info.name for info in infos]
    place = names.index(which) if isinstance(which, str) and which in names else which
    if not isinstance(place, int) or not 0 <= place < len(infos):
        known = ", ".join(names)
        raise InvalidArgument(f"The model has no {kind} {which!r}; it has: {known}.")
    return place


def outputs_to_fill(infos: Sequence[TensorInfo], given: Sequence[object]) -> list[Array]:
    """The memory of arrays or torch tensors that outputs go to. They must be as the outputs are."""
    return [array_of(value, info, "output") for value, info in zip(given, infos, strict=True)]


def array_of(value: Any, info: TensorInfo, kind: str) -> Array:
    """The memory of an array or torch tensor that is as the tensor: dtype, shape, order.

    `kind` is "input" or "output", which is written to. WrongType; InvalidArgument.
    """
    array = value.detach().numpy() if is_torch(value) else value
    name = f"{kind} '{info.name}'"
    if not isinstance(array, np.ndarray) or array.dtype != info.dtype:
        given = array.dtype if isinstance(array, np.ndarray) else type(value).__name__
        raise WrongType(f"{name[0].upper()}{name[1:]} is an array of {info.dtype}, not of {given}.")
    if array.shape != info.shape:
        message = (
            f"{name[0].upper()}{name[1:]} has shape {list(info.shape)}, not {list(array.shape)}."
        )
        raise InvalidArgument(message)
    if not array.flags.c_contiguous or not (array.flags.writeable or kind == "input"):
        wanted = "C-contiguous" if kind == "input" else "C-contiguous and writeable"
        raise InvalidArgument(f"The array for {name} must be {wanted}.")
    return array


def page_aligned(shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
    """An array of zeros in pages of its own: for Model.bind_input() and bind_output()."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    kind, count = np.dtype(dtype), prod(sizes)
    pages = mmap.mmap(-1, max(count * kind.itemsize, 1))
    return np.frombuffer(pages, kind, count).reshape(sizes)


class BoundArrays(dict[tuple[str, int], Array]):
    """The arrays that inputs and outputs are bound to, by "input" or "output" and place."""

    def bind(
        self, library: Native, model: Handle, kind: str, i: int, value: Any, info: TensorInfo
    ) -> None:
        """Binds, or with None ends it. InvalidArgument and WrongType for an array that cannot be.

        The array lives as long as it is bound, or as the model that pending runs hold.
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
        """The tensors that are not bound, which calls take or give by themselves."""
        return [info for i, info in enumerate(infos) if (kind, i) not in self] if self else infos

    def merged(self, kind: str, others: Sequence[Any]) -> list[Any]:
        """One value for each tensor: what is bound, and `others` at the places of the rest."""
        found = list(others)
        for i in sorted(place for own, place in self if own == kind):
            found.insert(i, self[kind, i])
        return found

    def sizes(self, kind: str, infos: Sequence[TensorInfo]) -> list[tuple[None, int]]:
        """The bytes that calls pass for each tensor."""
        return [(None, 0 if (kind, i) in self else t.nbytes) for i, t in enumerate(infos)]

    def copy(self) -> BoundArrays:
        """As it is now."""
        return BoundArrays(self)


def _address(array: Array, info: TensorInfo, kind: str) -> ctypes.c_void_p:
    address = array.__array_interface__["data"][0]
    if array.nbytes == 0:
        raise InvalidArgument(f"The {kind} '{info.name}' has no elements, so nothing to bind.")
    if address % mmap.PAGESIZE:
        raise InvalidArgument(
            f"The array for {kind} '{info.name}' begins at {address}, which is not a multiple of "
            f"a page ({mmap.PAGESIZE} bytes); spirloom.runtime.page_aligned() makes one that does."
        )
    return ctypes.c_void_p(address)
