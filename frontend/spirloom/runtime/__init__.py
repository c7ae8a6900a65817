"""Runs models (.slg): Python over the C API, by ctypes. Needs NumPy alone; docs/python.md."""

from __future__ import annotations

from collections.abc import Sequence

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
from spirloom.runtime.model import LoadStats, Model
from spirloom.runtime.pending import PendingRun
from spirloom.runtime.profile import Profile, ProfileRow
from spirloom.runtime.runtime import File, Runtime, StorageName, default_runtime
from spirloom.runtime.tensors import Symbol, TensorInfo

__all__ = [
    "Busy",
    "Device",
    "DeviceLost",
    "File",
    "FileMissing",
    "Forbidden",
    "InternalError",
    "InvalidArgument",
    "InvalidFile",
    "LoadStats",
    "Model",
    "NotFound",
    "OutOfMemory",
    "PendingRun",
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
]


def load(
    file: File,
    runtime: Runtime | None = None,
    *,
    storage: StorageName = "auto",
    profile: bool = False,
    kernels: Sequence[str] = (),
    tune: bool = False,
    kept_sizes: int = 0,
) -> Model:
    """Loads a graph with `runtime`, or with one of this process's that all such calls share.

    `file` and the options are those of Runtime.load().
    """
    return (runtime or default_runtime()).load(
        file,
        storage=storage,
        profile=profile,
        kernels=kernels,
        tune=tune,
        kept_sizes=kept_sizes,
    )


def operator_names() -> list[str]:
    """The operators that load() knows, sorted."""
    return default_runtime().operator_names()
