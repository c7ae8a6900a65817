"""How the arguments of PyTorch's operators find those of the specs that have their names.

By name; what no spec has changes no result here and is left out; tensors, whose names specs choose
for their formulas, by place. tests/torch/test_schemas.py compares every spec with its schema.
"""

from __future__ import annotations

from collections.abc import Sequence

from codegen.spec import Arg

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
