"""Registers torch.compile's backend `spirloom` unless an installed package has done so."""

from __future__ import annotations

from torch._dynamo import register_backend
from torch._dynamo.backends import registry

from spirloom.torch.dynamo import reports, spirloom

__all__ = ["reports", "spirloom"]

if "spirloom" not in registry._COMPILER_FNS:
    register_backend(compiler_fn=spirloom, name="spirloom")
