"""Binds the arguments of a call to those of a spec: by keyword, and by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from codegen.spec import Arg
from spirloom.aten import arg_for, changes_nothing
from spirloom.errors import Unsupported
from spirloom.torch.program import Call
from spirloom.torch.values import Item


def bound(
    call: Call, values: Mapping[str, Item], args: Sequence[Arg], dtype: np.dtype[Any] | None
) -> dict[str, Item]:
    """The arguments by the spec's names. Raises Unsupported for one that has no place there."""
    found: dict[str, Item] = {}
    for position, argument in enumerate(call.arguments):
        value = values[argument.name]
        # Keywords are none of places: a schema's stand behind all others.
        arg = arg_for(args, len(args) if argument.keyword else position, argument.name)
        if arg is not None:
            found[arg.name] = value
        elif argument.name == "dtype" and value is not None:
            first = next(iter(found))
            found[first] = _cast(found[first], value)
        elif value is not None and not changes_nothing(argument.name, value):
            raise Unsupported(f"its argument '{argument.name}' ({value}) is not supported")
    if any(arg.name == "dtype" for arg in args):
        found["dtype"] = dtype
    return found


def _cast(value: Item, dtype: np.dtype[Any]) -> Item:
    """Computing in a type of the call's own is left to rules, but where nothing changes."""
    if getattr(value, "dtype", None) is not None and str(dtype) == str(value.dtype):
        return value
    if isinstance(value, np.ndarray):
        return value.astype(dtype)
    if str(getattr(value, "dtype", "")) == {"float32": "f32", "float16": "f16"}.get(str(dtype)):
        return value
    raise Unsupported(f"it computes in {dtype} of another type, which is not supported")
