"""Spirloom: runs neural networks on Vulkan, imports them, and writes and inspects graph files
(.slg).

    import spirloom

    model = spirloom.load("net.slg")
    y, = model(x)

`import spirloom` loads only this file. The runtime (`spirloom.runtime`, which requires NumPy) is
imported on first use of one of its names. Importing models also requires onnx or torch,
except for GGUF files and exported programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spirloom.errors import SpirloomError, Status
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
    "devices",
    "is_available",
    "load",
    "operator_names",
]

_MODULES = {"SpirloomError": "spirloom.errors", "Status": "spirloom.errors", "LLM": "spirloom.llm"}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'spirloom' has no attribute '{name}'")
    import importlib

    module = importlib.import_module(_MODULES.get(name, "spirloom.runtime"))
    globals()[name] = getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
