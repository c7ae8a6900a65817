"""What is known of the numbers of a tensor, and of the type that it has in the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spirloom import interval
from spirloom.bounds.wide import exact_interval, is_wide
from spirloom.interval import EVERYTHING, Interval
from spirloom.ir import DType

# Beyond it floating-point numbers are too coarse to bound integers made of them.
_WHOLE_FLOATS = Interval(-(1 << 24), 1 << 24, whole=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a tensor: its type in the model and the numbers it can hold."""

    dtype: np.dtype[Any]
    bounds: Interval

    @property
    def exact(self) -> bool:
        """Whether the type that computes gives the same as the model's."""
        return not is_wide(self.dtype) or self.bounds.within(exact_interval(self.dtype))


def known_of(ours: DType, dtype: np.dtype[Any] | None, bounds: Interval) -> Facts:
    """The facts about an output of these bounds; its type in the model, if it is not ours."""
    if dtype is not None and is_wide(dtype):
        return Facts(dtype, bounds)
    limits = interval.of_type(ours.numpy) if ours.numpy.kind != "f" else _WHOLE_FLOATS
    return Facts(ours.numpy, bounds if bounds.within(limits) else interval.of_type(ours.numpy))


def reason_against(name: str, ours: DType, facts: Facts) -> str:
    """Why a tensor of such facts cannot be computed in our type, and the remedy."""
    if facts.dtype.kind == "f":
        return (
            f"'{name}' is {facts.dtype}, which Spirloom computes in {ours.long_name}, and that is "
            "not known to give the same; accept its rounding with --float64-as-float32"
        )
    found = "has no known bounds"
    if facts.bounds != EVERYTHING:
        found = f"is only known to be {facts.bounds}"
    return (
        f"'{name}' is {facts.dtype} and {found}, but the {ours.long_name} that stands in for it "
        f"holds {exact_interval(facts.dtype)}; state smaller bounds of the model's inputs with "
        "--range NAME=LOW..HIGH"
    )
