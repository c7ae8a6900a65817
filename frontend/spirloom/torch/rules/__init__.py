"""Import rules: torch operators whose names or arguments differ from those of the specs."""

from __future__ import annotations

from importlib import import_module

from spirloom.op_library import OpLibrary
from spirloom.torch.rules.creation import random
from spirloom.torch.rules.elementwise import RENAMES, Rename
from spirloom.torch.rules.registry import RULES

__all__ = ["RENAMES", "RULES", "Rename", "handles"]

_MODULES = (
    "attention",
    "complex_values",
    "creation",
    "elementwise",
    "fourier",
    "grouped",
    "indexing",
    "layers",
    "ordering",
    "quantized",
    "recurrent",
    "reductions",
    "resize",
    "search",
    "selection",
    "shapes",
)


def _register_rules() -> None:
    """Imports the modules of this package, which register their rules in RULES."""
    for name in _MODULES:
        import_module(f"{__name__}.{name}")


def handles(target: str, library: OpLibrary) -> bool:
    """Whether a rule, a rename or a spec imports this operator of torch."""
    if target in RULES:
        return RULES[target] is not random  # `random` only reports why it is not supported
    return library.serving(target) is not None or (
        target in RENAMES and library.has(RENAMES[target].op)
    )


_register_rules()
