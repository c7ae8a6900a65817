"""The rules by which --fp16 keeps computations in float32: the roles of operators, by their traits,
and the limits of constants. The page 'Use fp16' describes them.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from spec_model.traits import Trait
from spirloom.ir import ArgValue, Array, DType, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.rewrite import ADD, DIV, MUL, SQUARE, SUB

LARGEST = float(np.finfo(np.float16).max)
# Finite values beyond the range become this value: masks still are finite after scores are added.
SATURATED = 61440.0
SMALLEST = float(np.finfo(np.float16).smallest_normal)


class Role(StrEnum):
    """What an operator does to the range and the precision of its result."""

    FOLLOWS = "as its inputs"
    GROWS = "may exceed the range of fp16"
    INVERTS = "is the inverse of a value"
    COMPRESSES = "fits fp16 for all float32 inputs, but loses small differences in it"
    BOUNDS = "fits fp16, and reads the dtype of its inputs"
    READS = "integers or bool, read from the dtype of the inputs"
    MULTIPLIES = "GEMM and convolution"
    CASTS = "float values of integers, or the reverse"
    STORES = "fp16"


class Reason(StrEnum):
    """Why a node stays float32."""

    RANGE = "the result may exceed fp16 (exponentials, powers, sums, inverses, logarithms)"
    EPSILON = f"a constant below {SMALLEST:.1e}, the smallest normal fp16 value"
    LARGE = f"a constant beyond ±{LARGEST:.0f}"
    EXACT = "integers, positions and angles"
    ISLAND = "the model casts fp16 to float32"
    OPTION = "--keep-float32"
    FOLLOWS = "between float32 nodes"


# The role of an operator is that of its first trait here.
_ROLES = {
    Trait.CASTS: Role.CASTS,
    Trait.QUANTIZES: Role.READS,
    Trait.MAY_OVERFLOW: Role.GROWS,
    Trait.INVERTS: Role.INVERTS,
    Trait.COMPRESSES: Role.COMPRESSES,
    Trait.BOUNDED: Role.BOUNDS,
    Trait.ACCUMULATES: Role.MULTIPLIES,
    Trait.KEEPS_RANGE: Role.FOLLOWS,
    Trait.ELEMENTWISE: Role.FOLLOWS,
}

_LIMITS = ("aten.maximum", "aten.minimum", "aten.fmax", "aten.fmin", "aten.clamp.Tensor")
_SUMS = (ADD, SUB)
_PRODUCTS = (MUL, DIV)
# Number arguments that are elements of the result, or limits of them.
_VALUES = ("value", "fill_value", "min", "max", "min_val", "max_val", "act_min", "act_max")


def role_of(op: str, library: OpLibrary) -> Role:
    """The role of an operator, by its traits."""
    if library.has(op) and library.returns_integers(op):
        return Role.READS
    found = (role for trait, role in _ROLES.items() if library.has_trait(op, trait))
    return next(found, Role.STORES)


def squares(op: str, args: tuple[ArgValue, ...]) -> bool:
    """Whether a call computes x²."""
    return op == SQUARE or (op == MUL and args[0] is args[1])


def reason_of_constant(op: str, tensor: Tensor) -> Reason | None:
    """Why an operator that reads a constant stays float32."""
    if (
        tensor.dtype is not DType.F32
        or tensor.data is None
        or op not in (*_SUMS, *_PRODUCTS, *_LIMITS)
    ):
        return None
    smallest, largest = _ends(tensor.data)
    mask = op in _SUMS and smallest == 0 and tensor.data.size > 1
    if op not in _LIMITS and largest > LARGEST and not mask:
        return Reason.LARGE
    # A small factor of single elements, such as a layer scale, only makes these elements small.
    uniform = smallest == largest and (tensor.data.size == 1 or op not in _PRODUCTS)
    return Reason.EPSILON if uniform and 0 < largest < SMALLEST else None


def reason_of_number(name: str, value: ArgValue) -> Reason | None:
    """Why a call with a number argument stays float32."""
    if name not in ("min", "max", "min_val", "max_val") or not isinstance(value, float):
        return None
    return Reason.EPSILON if 0 < abs(value) < SMALLEST else None


def clamped_number(name: str, value: ArgValue) -> ArgValue:
    """A number argument of an fp16 call. Finite values of the result saturate as constants do."""
    if name in _VALUES and isinstance(value, float) and LARGEST < abs(value) < np.inf:
        return float(np.copysign(SATURATED, value))
    return value


def fits(low: object, high: object) -> bool:
    """Whether values between these limits fit fp16."""
    return all(isinstance(v, int | float) and abs(v) <= LARGEST for v in (low, high))


def _ends(values: Array) -> tuple[float, float]:
    """The smallest and the largest magnitude of finite elements."""
    magnitudes = np.abs(values[np.isfinite(values)])
    if magnitudes.size == 0:
        return 0.0, 0.0
    return float(magnitudes.min()), float(magnitudes.max())
