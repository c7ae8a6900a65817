"""Whole numbers that follow from shapes, and what only checks them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from spirloom.errors import Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.rules.table import imports
from spirloom.torch.values import Item

_NUMBERS: dict[str, Callable[..., Any]] = {
    "operator.add": operator.add,
    "operator.and_": operator.and_,
    "operator.eq": operator.eq,
    "operator.floordiv": operator.floordiv,
    "operator.ge": operator.ge,
    "operator.gt": operator.gt,
    "operator.le": operator.le,
    "operator.lt": operator.lt,
    "operator.mod": operator.mod,
    "operator.mul": operator.mul,
    "operator.ne": operator.ne,
    "operator.neg": operator.neg,
    "operator.or_": operator.or_,
    "operator.pow": operator.pow,
    "operator.sub": operator.sub,
    "operator.truediv": operator.truediv,
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.trunc": math.trunc,
    "torch.sym_float": float,
    "torch.sym_int": int,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_not": operator.not_,
    "torch._sym_sqrt": math.sqrt,
    "builtins.round": round,
}


@imports(*_NUMBERS)
def number(ctx: CallContext) -> Item:
    """Python's own arithmetic."""
    values = list(ctx.args.values())
    if not all(isinstance(value, int | float) for value in values):
        raise Unsupported("it depends on numbers that import does not know")
    try:
        return _NUMBERS[ctx.target](*values)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise Unsupported(f"it cannot be computed: {error}") from error


@imports("aten.sym_size.int")
def size(ctx: CallContext) -> Item:
    """One size of a tensor."""
    shape = ctx.value("self").shape
    return shape[ctx.axis("dim", len(shape))]


@imports("aten.sym_numel")
def count(ctx: CallContext) -> Item:
    """How many elements it has."""
    return math.prod(ctx.value("self").shape)


@imports("aten.item", "aten._local_scalar_dense", "aten.Bool.Tensor")
def item(ctx: CallContext) -> Item:
    """The number in a constant."""
    x = ctx.value("self")
    if not isinstance(x, np.ndarray) or x.size != 1:
        raise Unsupported(
            "it makes a number of what a tensor holds, which is known only when the graph runs"
        )
    return x.reshape(-1)[0].item()


@imports(
    "aten._assert_tensor_metadata", "aten._assert_scalar", "aten.sym_constrain_range",
    "aten.sym_constrain_range_for_size", "aten._assert_async", "aten._assert_async.msg",
    "torch._check", "aten.sym_constrain_range_for_size.default",
)  # fmt: skip
def nothing(ctx: CallContext) -> Item:
    """A check that the program makes of itself."""
    return None
