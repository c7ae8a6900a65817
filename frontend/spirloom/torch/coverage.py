"""Which operators of torch are imported as they are."""

from __future__ import annotations

from spirloom.ops import OpLibrary
from spirloom.torch.rules import RENAMES, RULES
from spirloom.torch.rules.making import random


def handles(target: str, library: OpLibrary) -> bool:
    """Whether there is an operator of that name, or something that says what becomes of it."""
    if target in RULES:
        return RULES[target] is not random
    return library.serving(target) is not None or (
        target in RENAMES and library.has(RENAMES[target].op)
    )
