"""How a graph is loaded: the keywords of Runtime.load() and spirloom.load()."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from spirloom.runtime import abi
from spirloom.runtime.errors import InvalidArgument
from spirloom.runtime.native import Native

if TYPE_CHECKING:
    from spirloom.runtime.model import Model

StorageName = Literal["auto", "buffer", "texture3d", "texture2d"]


class LoadOptions(TypedDict, total=False):
    """All of them may be left out."""

    storage: StorageName  # where tensors live that do not ask for a storage; "auto": a buffer
    profile: bool  # measures each dispatch, for Model.profile()
    kernels: Sequence[str]  # to take wherever they can compute a call, by name
    tune: bool  # measures first which kernels are fastest, which takes seconds, and remembers it
    kept_sizes: int  # for how many shapes of inputs what was prepared is kept; 0: 8
    max_dispatches: int  # what the graph may take at most; 0: what follows from the file's size
    max_device_bytes: int  # the same of the device's memory
    method: str  # which of the file's, by name; "": the first
    # A model of the same file and runtime: weights and what else it has on the device are shared
    # with it, and states of the same name; both then take one call at a time together.
    shares: Model | None
    own_states: bool  # shares, but not the states
    time_runs: bool  # measures whole runs on the device, for Model.gpu_time()


def native_options(library: Native, given: LoadOptions) -> tuple[abi.ModelOptions, object]:
    """The options for the library but for `shares`, and what they point to, to be kept as long.

    TypeError for a keyword that there is not, InvalidArgument for a storage.
    """
    members: dict[str, Any] = dict(given)
    unknown = sorted(members.keys() - LoadOptions.__annotations__.keys())
    if unknown:
        known = ", ".join(LoadOptions.__annotations__)
        raise TypeError(f"load() takes no '{unknown[0]}'; its options are: {known}.")
    names = [name.encode() for name in members.pop("kernels", ())]
    kernels = (ctypes.c_char_p * max(len(names), 1))(*names)
    tune = library.function("measured_kernels")() if members.pop("tune", False) else None
    storage = _storage(members.pop("storage", "auto"))
    if "method" in members:
        members["method"] = members["method"].encode()
    address = ctypes.addressof(kernels)
    pointers = {"kernels": address, "kernel_count": len(names), "tune": tune}
    return abi.ModelOptions.new(storage=storage, **pointers, **members), kernels


def _storage(name: str) -> abi.Storage:
    try:
        return abi.Storage[name.upper()]
    except KeyError:
        known = ", ".join(storage.name.lower() for storage in abi.Storage)
        raise InvalidArgument(f"Storage '{name}' is not one of: {known}.") from None
