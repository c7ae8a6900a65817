"""Constant folding: evaluation of ONNX nodes with constant inputs at import."""

from __future__ import annotations

from importlib import import_module

_MODULES = ("creation", "references")


def register_evaluators() -> None:
    """Imports the modules of this package, which register their functions in EVALUATORS."""
    for name in _MODULES:
        import_module(f"{__name__}.{name}")
