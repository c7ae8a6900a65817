"""The handwritten import rules and renames, checked against PyTorch's operators."""

from __future__ import annotations

import pytest
import torch
from spirloom.op_library import OpLibrary
from spirloom.torch.rules import RENAMES, RULES

LIBRARY = OpLibrary()
# The release that introduced an operator, if later than the oldest supported one.
LATER = {"aten._fused_rms_norm": "2.8", "aten._grouped_mm": "2.8"}
ATEN = sorted(name for name in {*RENAMES, *RULES} if name.startswith("aten."))


@pytest.mark.parametrize("name", ATEN)
def test_is_an_operator_of_torch(name: str) -> None:
    _, packet, *overload = name.split(".")
    wanted = overload[0] if overload else "default"
    if name in LATER and not hasattr(torch.ops.aten, packet):
        pytest.skip(f"{name} came with PyTorch {LATER[name]}.")
    assert wanted in getattr(torch.ops.aten, packet).overloads()


@pytest.mark.parametrize("name", RENAMES)
def test_renames_are_needed(name: str) -> None:
    """Neither a spec nor a rule handles the name, and the new operator exists."""
    assert LIBRARY.serving(name) is None
    assert name not in RULES
    assert LIBRARY.has(RENAMES[name].op)
    schema = _schema(name)
    theirs = _schema(RENAMES[name].op)
    pairs = zip(schema.arguments, theirs.arguments, strict=False)
    assert all(a.name == b.name or a.name == b.name.lower() for a, b in pairs)


def _schema(name: str) -> torch.FunctionSchema:
    _, packet, *overload = name.split(".")
    found = getattr(getattr(torch.ops.aten, packet), overload[0] if overload else "default")
    schema: torch.FunctionSchema = found._schema
    return schema
