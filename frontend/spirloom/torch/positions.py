"""Binds the arguments of a call to those of a spec: by keyword, and by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from codegen.spec import Arg
from spirloom.errors import Unsupported
from spirloom.torch.program import Argument, Call
from spirloom.torch.values import Item

# What changes nothing of the numbers that a call gives here. A type is that of the result, which
# the program states; copies, devices and layouts are not ours to choose.
_NO_MATTER = frozenset({
    "device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "requires_grad",
    "implicit", "stable", "sorted", "out_int32", "sparse_grad", "include_self", "half_to_float",
    "compute_mode", "is_coalesced", "unsafe",
})  # fmt: skip


def bound(
    call: Call, values: Mapping[str, Item], args: Sequence[Arg], dtype: np.dtype[Any] | None
) -> dict[str, Item]:
    """The arguments by the spec's names. Raises Unsupported for one that has no place there.

    Names are the schema's where both have them; a spec may call its tensors otherwise, which stand
    where the schema has them.
    """
    names = [arg.name for arg in args]
    given = {argument.name for argument in call.arguments}
    found: dict[str, Item] = {}
    for position, argument in enumerate(call.arguments):
        value = values[argument.name]
        name = _place(argument, position, names, given)
        if name is not None:
            found[name] = value
        elif argument.name == "dtype" and value is not None:
            first = next(iter(found))
            found[first] = _cast(found[first], value)
        elif value is not None and argument.name not in _NO_MATTER:
            raise Unsupported(f"its argument '{argument.name}' ({value}) is not supported")
    if "dtype" in names:
        found["dtype"] = dtype
    return found


def _place(argument: Argument, position: int, names: Sequence[str], given: set[str]) -> str | None:
    if argument.name in names:
        return argument.name
    if argument.keyword or position >= len(names) or names[position] in given:
        return None
    return None if argument.name in _NO_MATTER else names[position]


def _cast(value: Item, dtype: np.dtype[Any]) -> Item:
    """Computing in a type of the call's own is left to rules, but where nothing changes."""
    if getattr(value, "dtype", None) is not None and str(dtype) == str(value.dtype):
        return value
    if isinstance(value, np.ndarray):
        return value.astype(dtype)
    if str(getattr(value, "dtype", "")) == {"float32": "f32", "float16": "f16"}.get(str(dtype)):
        return value
    raise Unsupported(f"it computes in {dtype} of another type, which is not supported")
