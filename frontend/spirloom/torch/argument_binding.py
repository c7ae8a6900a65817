"""Binds the arguments of torch operators to those of specs, by name or position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from spec_model.spec import Arg
from spirloom.errors import Unsupported
from spirloom.torch.program import Call
from spirloom.torch.values import Item

ANY = object()

# Arguments without an effect, of any operator: the value that has none; ANY: all values.
_IGNORED: dict[str, object] = {
    # The runtime decides about devices and memory layouts.
    "device": ANY,
    "layout": ANY,
    "memory_format": ANY,
    "non_blocking": ANY,
    "pin_memory": ANY,
    # Gradients and training statistics.
    "momentum": ANY,
    "padding_idx": ANY,
    "scale_grad_by_freq": ANY,
    "sparse": ANY,
    "sparse_grad": ANY,
    # PyTorch's choice of an implementation.
    "compute_mode": ANY,
    "cudnn_enabled": ANY,
    "implicit": ANY,
    # Redundant with other arguments.
    "C": ANY,
    "HxW": ANY,
    "N": ANY,
    "enable_gqa": ANY,
    "output_size": ANY,  # of repeat_interleave; specs of other operators have the argument
    # Guarantees that always hold.
    "sorted": ANY,
    "stable": ANY,
    # bind_arguments() casts the first tensor.
    "dtype": None,
    "half_to_float": False,
}


def arg_for(args: Sequence[Arg], index: int, name: str) -> Arg | None:
    """The spec's argument for the argument with this index and name of PyTorch's schema.

    None: the spec has no such argument; it may be omitted if `changes_nothing`.
    """
    named = next((arg for arg in args if arg.name == name), None)
    if named is not None or name in _IGNORED:
        return named
    return args[index] if index < len(args) else None


def changes_nothing(name: str, value: object) -> bool:
    """Whether a call may omit this argument, which the spec does not have."""
    wanted = _IGNORED.get(name)
    return name in _IGNORED and (wanted is ANY or value is None or value is wanted)


def bind_arguments(
    call: Call,
    values: Mapping[str, Item],
    args: Sequence[Arg],
    dtype: np.dtype[Any] | None,
    cast: Callable[[Item, np.dtype[Any]], Item],
) -> dict[str, Item]:
    """The arguments by the spec's names. Raises Unsupported for one that the spec does not have.

    `cast` converts the first tensor to the type that the call computes in, if it states one.
    """
    found: dict[str, Item] = {}
    for position, argument in enumerate(call.arguments):
        value = values[argument.name]
        # Keyword arguments are bound by name only.
        arg = arg_for(args, len(args) if argument.keyword else position, argument.name)
        if arg is not None:
            found[arg.name] = value
        elif argument.name == "dtype" and isinstance(value, np.dtype) and found:
            first = next(iter(found))
            found[first] = cast(found[first], value)
        elif value is not None and not changes_nothing(argument.name, value):
            raise Unsupported(f"its argument '{argument.name}' ({value}) is not supported")
    if any(arg.name == "dtype" for arg in args):
        found["dtype"] = dtype
    return found
