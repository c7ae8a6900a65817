"""What is written for operators by hand: where torch's names or meanings differ from specs'.

These modules fill the table when they are imported.
"""

from __future__ import annotations

from spirloom.torch.rules import (
    indexing,
    layers,
    making,
    pooling,
    quantised,
    recurrent,
    reducing,
    resizing,
    scalars,
    shapes,
    sizes,
)
from spirloom.torch.rules.renames import RENAMES, Rename
from spirloom.torch.rules.table import RULES

__all__ = ["RENAMES", "RULES", "Rename"]

assert indexing and layers and making and pooling and quantised and recurrent and reducing
assert resizing and scalars and shapes and sizes
