"""Binds the arguments of torch operators to those of specs, by name and by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from codegen.spec import Arg
from spirloom.errors import Unsupported
from spirloom.torch.program import Call
from spirloom.torch.values import Item

ANY = object()

# By name, whichever operator has it: the value that changes nothing; ANY: no value does.
_IGNORED: dict[str, object] = {
    # Where and how a tensor lies in memory is for the runtime to say.
    "device": ANY,
    "layout": ANY,
    "memory_format": ANY,
    "non_blocking": ANY,
    "pin_memory": ANY,
    # Of gradients, and of statistics that training updates.
    "momentum": ANY,
    "padding_idx": ANY,
    "scale_grad_by_freq": ANY,
    "sparse": ANY,
    "sparse_grad": ANY,
    # How PyTorch finds its result.
    "compute_mode": ANY,
    "cudnn_enabled": ANY,
    "implicit": ANY,
    # What the other arguments tell as well.
    "C": ANY,
    "HxW": ANY,
    "N": ANY,
    "enable_gqa": ANY,
    "output_size": ANY,  # of a repetition; where it says something, the spec has it
    # Promises that are kept whether they are asked for or not.
    "sorted": ANY,
    "stable": ANY,
    # Another dtype than that of the tensors: whoever binds casts a tensor first.
    "dtype": None,
    "half_to_float": False,
}


def arg_for(args: Sequence[Arg], place: int, name: str) -> Arg | None:
    """The spec's argument that the one of this place and name in PyTorch's schema is.

    None: the spec has none, and none is needed if `changes_nothing`.
    """
    named = next((arg for arg in args if arg.name == name), None)
    if named is not None or name in _IGNORED:
        return named
    return args[place] if place < len(args) else None


def changes_nothing(name: str, value: object) -> bool:
    """Whether an argument that a spec does not have may be left out of a call."""
    wanted = _IGNORED.get(name)
    return name in _IGNORED and (wanted is ANY or value is None or value is wanted)


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
