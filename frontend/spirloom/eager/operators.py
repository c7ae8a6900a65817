"""Operators of a runtime as functions of tensors."""

from __future__ import annotations

import ctypes
import difflib
import inspect
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spirloom.eager.signatures import Argument, Signature, read_signatures
from spirloom.eager.stream import Stream
from spirloom.eager.tensor import Tensor, as_tensor, narrowed
from spirloom.runtime import abi
from spirloom.runtime.errors import InvalidArgument, NotFound, WrongType
from spirloom.runtime.native import Handle, Native

if TYPE_CHECKING:
    from spirloom.runtime.runtime import Runtime


class Operators(Mapping[str, "Operator"]):
    """The operators of a runtime by name: `ops.add`, `ops["add"]` or `ops["aten.add.Tensor"]`."""

    def __init__(self, runtime: Runtime, library: Native, handle: Handle, stream: Stream) -> None:
        """Internal; see Runtime.ops."""
        signatures = list(read_signatures(library, handle))
        self._operators = {s.short_name: Operator(runtime, stream, s) for s in signatures}
        self._full_names = {s.name: self._operators[s.short_name] for s in signatures}

    def __getattr__(self, name: str) -> Operator:
        if name in self:
            return self[name]
        raise AttributeError(_missing(name))  # Python adds similar names

    def __getitem__(self, name: str) -> Operator:
        found = self._operators.get(name) or self._full_names.get(name)
        if found is not None:
            return found
        close = difflib.get_close_matches(name, [*self._operators, *self._full_names], n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise NotFound(_missing(name) + hint)

    def __contains__(self, name: object) -> bool:
        return name in self._operators or name in self._full_names

    def __iter__(self) -> Iterator[str]:
        return iter(self._operators)

    def __len__(self) -> int:
        return len(self._operators)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._operators})

    def __repr__(self) -> str:
        return f"<{len(self)} operators: {', '.join(sorted(self)[:4])}, …>"


class Operator:
    """A function of tensors. Arguments are given by position or name; tensors may also be arrays,
    which are copied to the device, and numbers."""

    def __init__(self, runtime: Runtime, stream: Stream, signature: Signature) -> None:
        """Internal; see Operators."""
        self._runtime = runtime
        self._stream = stream
        self.signature = signature
        self.__name__ = signature.short_name
        self.__doc__ = f"{signature}\n\nThe operator '{signature.name}'."
        self.__signature__ = _python_signature(signature)

    def __repr__(self) -> str:
        return f"<operator {self.signature}>"

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Calls the operator. Returns its result, or a tuple of several.

        Returns when the dispatches are recorded. Raises WrongType for arguments of other types,
        NotFound or Unsupported if no kernel supports the call, InvalidArgument if the arguments do
        not match the operator.
        """
        values = self._bound(positional, named)
        call = _Call(self._runtime, self._stream, self.signature, values)
        results = self._stream.call(self.signature.index, call.arguments, self.signature.results)
        tensors = tuple(
            Tensor(self._runtime, self._stream, block, dtype, shape)
            for block, dtype, shape in results
        )
        return tensors[0] if len(tensors) == 1 else tensors

    def _bound(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The value of each argument."""
        signature = self.signature
        arguments = signature.arguments
        names = [argument.name for argument in arguments]
        if len(positional) > len(names):
            raise WrongType(f"{len(positional)} arguments are given; the operator is {signature}.")
        given = dict(zip(names, positional, strict=False))
        for name, value in named.items():
            if name not in names:
                raise WrongType(f"There is no argument '{name}'; the operator is {signature}.")
            if name in given:
                raise WrongType(f"The argument '{name}' is given twice: by position and by name.")
            given[name] = value
        missing = [a.name for a in arguments if a.required and a.name not in given]
        if missing:
            raise WrongType(f"The argument '{missing[0]}' is missing; the operator is {signature}.")
        for argument in arguments:
            if argument.name not in given:
                source = argument.default_of
                given[argument.name] = argument.default if source is None else given[source]
        return [given[name] for name in names]


class _Call:
    """The arguments of a call for the C API, with the memory that they refer to."""

    def __init__(
        self, runtime: Runtime, stream: Stream, signature: Signature, values: Sequence[Any]
    ) -> None:
        self._runtime = runtime
        self._stream = stream
        self._signature = signature
        self._keeps: list[object] = []
        self._dtype = _dtype_of_numbers(values)
        self.arguments = [
            self._argument(argument, value)
            for argument, value in zip(signature.arguments, values, strict=True)
        ]

    def _argument(self, argument: Argument, value: Any) -> abi.Argument:
        kind = argument.kind
        if value is None and argument.optional:
            return abi.Argument(kind=abi.ArgumentKind.NONE)
        try:
            if kind == "tensor":
                return self._tensors(abi.ArgumentKind.TENSOR, argument, [value])
            if kind == "tensors":
                return self._tensors(abi.ArgumentKind.TENSOR_LIST, argument, list(value))
            if kind == "int":
                return abi.Argument(kind=abi.ArgumentKind.INT, i=_int64(value, argument.name))
            if kind == "bool" and not isinstance(value, str | bytes):
                return abi.Argument(kind=abi.ArgumentKind.BOOL, i=operator.index(bool(value)))
            if kind == "float" and not isinstance(value, str | bytes):
                return abi.Argument(kind=abi.ArgumentKind.FLOAT, f=float(value))
            if kind == "ints":
                return self._ints(value, argument.name)
            if isinstance(value, str):
                text = abi.c_text(value, f"argument '{argument.name}'")
                return abi.Argument(kind=abi.ArgumentKind.STRING, s=text)
        except (TypeError, ValueError) as error:
            if isinstance(error, WrongType) or not _is_plain(error):
                raise
        raise WrongType(
            f"The argument '{argument.name}' is a {type(value).__name__} ({value!r}); the operator "
            f"is {self._signature}."
        )

    def _tensors(
        self, kind: abi.ArgumentKind, argument: Argument, values: Sequence[Any]
    ) -> abi.Argument:
        tensors = [
            as_tensor(self._runtime, self._stream, value, self._dtype, argument.name)
            for value in values
        ]
        array = (abi.DeviceTensor * len(tensors))(
            *(self._stream.device_tensor(t._block.address, t.dtype, t.shape) for t in tensors)
        )
        self._keeps += [tensors, array]
        return abi.Argument(kind=kind, count=len(tensors), tensors=ctypes.addressof(array))

    def _ints(self, value: Any, name: str) -> abi.Argument:
        given = [value] if isinstance(value, int) else value
        numbers = [_int64(each, name) for each in given]
        array = (abi.Int * len(numbers))(*numbers)
        self._keeps.append(array)
        return abi.Argument(
            kind=abi.ArgumentKind.INTS, count=len(numbers), ints=ctypes.addressof(array)
        )


def _missing(name: str) -> str:
    return f"The runtime's libraries have no operator '{name}'."


def _int64(value: Any, name: str) -> int:
    """The value as an int64, which ctypes would truncate."""
    number = operator.index(value)
    if not -(2**63) <= number < 2**63:
        raise InvalidArgument(f"The argument '{name}' ({number}) is out of the range of int64.")
    return number


def _is_plain(error: Exception) -> bool:
    """Whether Python raised it for a value of another type, not this package for its contents."""
    return type(error) in (TypeError, ValueError)


def _dtype_of_numbers(values: Sequence[Any]) -> np.dtype[Any] | None:
    """The dtype of numbers that are passed as tensors: that of the call's first tensor."""
    for value in values:
        if isinstance(value, Tensor):
            return value.dtype
        if isinstance(value, np.ndarray):
            return narrowed(value.dtype)
    return None


def _python_signature(signature: Signature) -> inspect.Signature:
    """For help(), and for editors."""
    parameters = []
    for argument in signature.arguments:
        default: Any = inspect.Parameter.empty
        if not argument.required:
            default = argument.default
        parameters.append(
            inspect.Parameter(
                argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default
            )
        )
    try:
        return inspect.Signature(parameters)
    except ValueError:  # a required argument after an optional one: by name only
        first = next(i for i, p in enumerate(parameters) if p.default is not p.empty)
        return inspect.Signature(
            [
                *parameters[:first],
                *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters[first:]),
            ]
        )
