"""Runs models (.slg): Python over the C API through ctypes. Requires only NumPy.

See the page 'Run models from Python' of the documentation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from spirloom.runtime.arrays import page_aligned
from spirloom.runtime.device import Device, devices, is_available
from spirloom.runtime.errors import (
    Busy,
    DeviceLost,
    FileMissing,
    Forbidden,
    InternalError,
    InvalidArgument,
    InvalidFile,
    NotFound,
    OutOfMemory,
    Unavailable,
    Unsupported,
    WrongType,
)
from spirloom.runtime.execution import PendingRun
from spirloom.runtime.model import Model
from spirloom.runtime.pool import Pool
from spirloom.runtime.profile import LoadStats, Profile, ProfileRow
from spirloom.runtime.runtime import File, LoadOptions, Runtime, default_runtime
from spirloom.runtime.tensors import IntInput, Symbol, TensorInfo

if TYPE_CHECKING:
    import numpy.typing as npt

    from spirloom.eager.tensor import Tensor

__all__ = [
    "Busy",
    "Device",
    "DeviceLost",
    "File",
    "FileMissing",
    "Forbidden",
    "IntInput",
    "InternalError",
    "InvalidArgument",
    "InvalidFile",
    "LoadOptions",
    "LoadStats",
    "Model",
    "NotFound",
    "OutOfMemory",
    "PendingRun",
    "Pool",
    "Profile",
    "ProfileRow",
    "Runtime",
    "Symbol",
    "TensorInfo",
    "Unavailable",
    "Unsupported",
    "WrongType",
    "default_runtime",
    "devices",
    "is_available",
    "load",
    "operator_names",
    "page_aligned",
    "tensor",
]


def load(file: File, runtime: Runtime | None = None, **options: Unpack[LoadOptions]) -> Model:
    """Loads a graph with `runtime`, or with the process-wide default runtime.

    `file` and the options are those of Runtime.load().
    """
    return (runtime or default_runtime()).load(file, **options)


def tensor(data: object, dtype: npt.DTypeLike = None, runtime: Runtime | None = None) -> Tensor:
    """A tensor in device memory, for `spirloom.ops`; see Runtime.tensor()."""
    return (runtime or default_runtime()).tensor(data, dtype)


def operator_names() -> list[str]:
    """The operators of the default runtime, sorted."""
    return default_runtime().operator_names()
