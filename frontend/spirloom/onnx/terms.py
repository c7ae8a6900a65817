"""What converters and evaluators deal in: values of names, and why there is none."""

from __future__ import annotations

from spirloom.ir import Array, Tensor

# What an ONNX name stands for: a constant known at import, in ONNX's own type, or a tensor.
Value = Array | Tensor


class Unsupported(Exception):
    """Why a node cannot be imported. Collected, so that one message lists every such node."""
