"""Tensors in device memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from spirloom.eager.stream import Block, Stream
from spirloom.runtime.abi import MAX_RANK
from spirloom.runtime.arrays import Array
from spirloom.runtime.errors import InvalidArgument, WrongType

if TYPE_CHECKING:
    from spirloom.eager.operators import Operators
    from spirloom.runtime.runtime import Runtime

# What NumPy and Python make of numbers without a dtype, as kernels have it.
_NARROWED = {"float64": "float32", "int64": "int32", "uint64": "int32", "uint32": "int32"}


class Tensor:
    """A dense, row-major tensor in device memory, made by Runtime.tensor() and by operators.

    Immutable. Arithmetic operators call the operators of the same meaning; one operand may be a
    number or an array.
    """

    __slots__ = ("_block", "_runtime", "_stream", "dtype", "shape")
    __array_priority__ = 1000  # array + tensor is a tensor

    def __init__(
        self,
        runtime: Runtime,
        stream: Stream,
        block: Block,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
    ) -> None:
        """Internal; see Runtime.tensor()."""
        self._runtime = runtime
        self._stream = stream
        self._block = block
        self.dtype = dtype
        self.shape = shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    def numpy(self) -> Array:
        """A copy in host memory, after the calls that compute the tensor."""
        array = np.empty(self.shape, self.dtype)
        self._stream.download(self._block.address, array)
        return array

    def item(self) -> Any:
        """The value of a tensor with one element."""
        if self.size != 1:
            raise InvalidArgument(
                f"item() requires a tensor of one element; its shape is {list(self.shape)}."
            )
        return self.numpy().item()

    def reshape(self, *shape: int) -> Tensor:
        """A tensor over the same memory. One size may be -1."""
        known = prod(size for size in shape if size != -1)
        sizes = shape
        if shape.count(-1) == 1 and known and self.size % known == 0:
            sizes = tuple(self.size // known if size == -1 else size for size in shape)
        _check_rank(sizes, "reshape()")
        if min(sizes, default=0) < 0 or prod(sizes) != self.size:
            raise InvalidArgument(
                f"A tensor of shape {list(self.shape)} cannot have the shape {list(shape)}."
            )
        return Tensor(self._runtime, self._stream, self._block, self.dtype, sizes)

    def __array__(self, dtype: npt.DTypeLike = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("A tensor in device memory has no array without a copy.")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("A tensor without dimensions has no len().")
        return self.shape[0]

    def __repr__(self) -> str:
        values = np.array2string(self.numpy(), separator=", ", prefix="tensor(")
        return f"tensor({values}, dtype={self.dtype})"

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __add__(self, other: Any) -> Any:
        return self._call("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._call("add", self, other)

    def __sub__(self, other: Any) -> Any:
        return self._call("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._call("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._call("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._call("mul", self, other)

    def __truediv__(self, other: Any) -> Any:
        return self._call("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._call("div", other, self)

    def __pow__(self, other: Any) -> Any:
        return self._call("pow", self, other)

    def __matmul__(self, other: Any) -> Any:
        return self._call("matmul", self, other)

    def __neg__(self) -> Any:
        return self._call("neg", self)

    def _call(self, name: str, *arguments: Any) -> Any:
        operators: Operators = self._runtime.ops
        return operators[name](*arguments)


def narrowed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of kernels for elements of a dtype of NumPy."""
    return np.dtype(_NARROWED.get(dtype.name, dtype))


def make_tensor(
    runtime: Runtime, stream: Stream, value: object, dtype: npt.DTypeLike, name: str = "tensor"
) -> Tensor:
    """A tensor with the elements of `value`, converted to `dtype`; None: the dtype of kernels that
    corresponds to its own. `name` is used in messages."""
    array = _numbers(value, name)
    _check_rank(array.shape, name)
    expected = _dtype(stream, array, dtype, name)
    array = _converted(array, expected, name)
    return Tensor(runtime, stream, stream.upload(array), expected, array.shape)


def _check_rank(shape: tuple[int, ...], name: str) -> None:
    if len(shape) > MAX_RANK:
        raise InvalidArgument(f"'{name}' has {len(shape)} dimensions; the maximum is {MAX_RANK}.")


def _numbers(value: object, name: str) -> Array:
    """The value as an array in host memory."""
    if isinstance(value, np.ndarray):
        return value
    try:
        if hasattr(value, "detach"):  # a torch tensor, also one that requires a gradient
            value = value.detach()
        array = np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise WrongType(
            f"'{name}' is a {type(value).__name__}, which is no array of numbers in host memory: "
            f"{error}"
        ) from error
    if array.dtype.kind in "SUO":
        raise WrongType(f"'{name}' is {value!r}; expected a tensor, an array or numbers.")
    return array


def _dtype(stream: Stream, array: Array, given: npt.DTypeLike, name: str) -> np.dtype[Any]:
    found = narrowed(array.dtype) if given is None else np.dtype(given)
    if found not in stream.dtypes:
        known = ", ".join(each.names[0] if each.names else each.name for each in stream.dtypes)
        raise WrongType(f"'{name}' has the dtype {found}; those of kernels are: {known}.")
    return found


def _converted(array: Array, dtype: np.dtype[Any], name: str) -> Array:
    """The elements as `dtype`, C-contiguous. Integers and finite floats must be in its range."""
    if array.dtype == dtype:
        return np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.kind not in "biuf" or dtype.names or array.dtype.kind == "f" != dtype.kind:
        raise WrongType(
            f"'{name}' has the dtype {array.dtype}; it is not converted to {dtype} implicitly."
        )
    with np.errstate(over="ignore"):
        converted = array.astype(dtype, order="C")
    is_float = dtype.kind == "f"
    wrong = np.isinf(converted) & np.isfinite(array) if is_float else converted != array
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidArgument(
            f"Element {i} ({array.flat[i]}) of '{name}' is out of the range of {dtype}."
        )
    return converted


def as_tensor(
    runtime: Runtime, stream: Stream, value: object, dtype: np.dtype[Any] | None, name: str
) -> Tensor:
    """The tensor that a call passes: a tensor, an array, or a number, which has `dtype`."""
    if isinstance(value, Tensor):
        if value._stream is not stream:
            raise InvalidArgument(f"The tensor '{name}' belongs to another Runtime.")
        return value
    is_number = isinstance(value, int | float | bool | np.number) and not hasattr(value, "shape")
    return make_tensor(runtime, stream, value, dtype if is_number else None, name)
