"""Descriptions of a model's inputs, outputs, states, integer inputs, symbolic sizes and
attachments."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from spirloom.runtime import abi
from spirloom.runtime.device import texts
from spirloom.runtime.native import Handle, Native


def read_attachments(library: Native, model: Handle, only: str = "") -> dict[str, bytes]:
    """A copy of each attachment, or of one, by name."""
    found = {}
    for i in range(library.function("model_attachment_count")(model.value)):
        info: Any = abi.AttachmentInfo.new()
        library.call("model_attachment", model.value, i, ctypes.byref(info))
        name = info.name.decode(errors="replace")
        if not only or name == only:
            found[name] = ctypes.string_at(info.data, info.size) if info.size else b""
    return found


def dtype_of(library: Native, value: int) -> np.dtype[Any]:
    """The NumPy type of a spirloom_dtype, whose name is NumPy's. A type that NumPy does not have is
    a structure with one field of that name, which contains the bytes, also if a package such as
    ml_dtypes registers the name."""
    name: str = library.function("dtype_name")(value).decode()
    if name == "bool" or hasattr(np, name):
        return np.dtype(name)
    return np.dtype([(name, f"u{library.function('dtype_size')(value)}")])


# The bounds of the C API where there are none.
_LEAST, _GREATEST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """An input, an output or a state."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]  # after loading the maximum shape; later that of the last resize
    dims: tuple[str, ...]  # size expressions: "batch", "3", "2*height"; "?": known after a resize
    nbytes: int
    # Inclusive bounds of an input's values, as set at import. None: unbounded.
    min: int | None
    max: int | None

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(self.dims)}]"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A dynamic size with its inclusive bounds."""

    name: str
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class IntInput:
    """An integer input with its inclusive bounds: an int of each call that is no array."""

    name: str
    min: int
    max: int
    position: int  # number of inputs before it in the order of the model's arguments

    def __str__(self) -> str:
        return f"{self.name}: int"


def read_tensors(library: Native, model: Handle, kind: str) -> tuple[TensorInfo, ...]:
    """The model's inputs, outputs or states; `kind` is "input", "output" or "state"."""
    tensors = []
    for i in range(library.function(f"model_{kind}_count")(model.value)):
        info: Any = abi.TensorInfo.new()
        library.call(f"model_{kind}", model.value, i, ctypes.byref(info))
        tensors.append(
            TensorInfo(
                name=info.name.decode(errors="replace"),
                dtype=dtype_of(library, info.dtype),
                shape=_sizes(info.shape, info.rank),
                dims=texts(info.dims, info.rank),
                nbytes=info.size,
                min=None if info.min == _LEAST else info.min,
                max=None if info.max == _GREATEST else info.max,
            )
        )
    return tuple(tensors)


def read_symbols(library: Native, model: Handle) -> tuple[Symbol, ...]:
    """The model's dynamic sizes."""
    symbols = []
    for i in range(library.function("model_symbol_count")(model.value)):
        info: Any = abi.SymbolInfo.new()
        library.call("model_symbol", model.value, i, ctypes.byref(info))
        symbols.append(Symbol(info.name.decode(errors="replace"), info.min, info.max))
    return tuple(symbols)


def read_int_inputs(library: Native, model: Handle) -> tuple[tuple[IntInput, ...], tuple[int, ...]]:
    """The model's integer inputs, and their current values."""
    inputs, values = [], []
    for i in range(library.function("model_int_input_count")(model.value)):
        info: Any = abi.IntInputInfo.new()
        library.call("model_int_input", model.value, i, ctypes.byref(info))
        name = info.name.decode(errors="replace")
        inputs.append(IntInput(name, info.min, info.max, info.position))
        values.append(info.value)
    return tuple(inputs), tuple(values)


def _sizes(pointer: int | None, rank: int) -> tuple[int, ...]:
    if not pointer:
        return ()
    return tuple((ctypes.c_int64 * rank).from_address(pointer))
