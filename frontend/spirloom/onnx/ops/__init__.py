"""Converters of ONNX operators, by topic."""

from __future__ import annotations

from importlib import import_module

_MODULES = (
    "attention",
    "contrib",
    "convolution",
    "data_movement",
    "determinant",
    "elementwise",
    "image_sampling",
    "indexing",
    "matmul",
    "normalize",
    "pool",
    "quantize",
    "quantized_layers",
    "recurrent",
    "reduce",
    "resize",
    "runtime_quantized",
    "selection",
    "shape",
    "suppression",
)


def register_converters() -> None:
    """Imports the modules of this package, which register their converters in CONVERTERS."""
    for name in _MODULES:
        import_module(f"{__name__}.{name}")
