"""Spirloom: runs neural networks on Vulkan, imports them, and writes and inspects graph files
(.slg).

    import spirloom

    model = spirloom.load("net.slg")
    y, = model(x)

`import spirloom` loads only this file. The runtime (`spirloom.runtime`, which requires NumPy) is
imported on first use of one of its names, and so are the modules `spirloom.ops`, the operators as
functions of tensors, and `spirloom.onnx`, `spirloom.torch` and `spirloom.executorch`, whose
functions require the packages of these names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spirloom import executorch as executorch
    from spirloom import onnx as onnx
    from spirloom import ops as ops
    from spirloom import torch as torch
    from spirloom.eager import Tensor
    from spirloom.errors import SpirloomError, Status
    from spirloom.formats.convert import convert
    from spirloom.llm import LLM
    from spirloom.runtime import (
        Device,
        Model,
        PendingRun,
        Pool,
        Profile,
        Runtime,
        devices,
        is_available,
        load,
        operator_names,
        tensor,
    )

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "Device",
    "Model",
    "PendingRun",
    "Pool",
    "Profile",
    "Runtime",
    "SpirloomError",
    "Status",
    "Tensor",
    "convert",
    "devices",
    "is_available",
    "load",
    "operator_names",
    "tensor",
]

# Not in __all__: `from spirloom import *` does not replace the packages of these names.
_SUBMODULES = ("executorch", "onnx", "ops", "torch")
_MODULES = {
    "SpirloomError": "spirloom.errors",
    "Status": "spirloom.errors",
    "LLM": "spirloom.llm",
    "Tensor": "spirloom.eager",
    "convert": "spirloom.formats.convert",
}


def __getattr__(name: str) -> Any:
    """Imports a public name or a submodule on first use."""
    import importlib

    if name in _SUBMODULES:
        return importlib.import_module(f"spirloom.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'spirloom' has no attribute '{name}'")
    module = importlib.import_module(_MODULES.get(name, "spirloom.runtime"))
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    special = [name for name in globals() if name.startswith("__")]
    return sorted([*special, *__all__, *_SUBMODULES])
