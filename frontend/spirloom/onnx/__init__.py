"""ONNX models: opsets 1 to 26 of the default domain, and operators of com.microsoft.

`load` runs a model, with unsupported nodes on the host. The command `spirloom import` writes a
graph file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spirloom.onnx.partition.load import load
    from spirloom.onnx.partition.model import PartitionedModel

__all__ = ["PartitionedModel", "load"]

_MODULES = {"PartitionedModel": "model", "load": "load"}


def __getattr__(name: str) -> Any:
    """Imports a public name on first use."""
    if name not in _MODULES:
        raise AttributeError(f"module 'spirloom.onnx' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(f"spirloom.onnx.partition.{_MODULES[name]}"), name)
