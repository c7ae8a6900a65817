"""What converters and evaluators deal in: values of names, and why there is none."""

from __future__ import annotations

from spirloom.errors import Unsupported
from spirloom.lifter import Value

__all__ = ["Unsupported", "Value"]
