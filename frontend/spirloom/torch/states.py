"""Buffers that a program changes: states of the graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array, State, Tensor
from spirloom.torch.element_types import our_type
from spirloom.torch.in_place import written_buffers
from spirloom.torch.program import Meta, Program, Ref


def updates_of(program: Program) -> Mapping[str, Ref]:
    """What buffers are after a run, by their names; ImportFailure if it changes anything else."""
    kept = {i.target: Ref(i.name) for i in program.inputs if i.target in program.kept}
    updates = {**kept, **written_buffers(program), **program.updates}
    others = [name for name in program.mutated if name not in updates]
    if others:
        raise ImportFailure(
            f"{program.where} writes {', '.join(map(repr, others[:5]))} in place, and a graph "
            "changes buffers alone: make them buffers, or inputs and outputs of the module."
        )
    return updates


def state_of(name: str, meta: Meta, values: Array) -> State:
    """A buffer as the first run finds it; its update is yet to be known."""
    try:
        tensor = Tensor(name, our_type(meta.dtype), tuple(values.shape))
    except Unsupported as error:
        raise ImportFailure(f"Buffer '{name}': {error}.") from error
    initial = np.ascontiguousarray(values, dtype=tensor.dtype.numpy).reshape(tensor.shape)
    if values.dtype.kind in "iu" and not np.array_equal(initial, values):
        raise ImportFailure(f"Buffer '{name}' has numbers beyond {tensor.dtype.long_name}.")
    is_zero = not initial.reshape(-1).view(np.uint8).any()
    return State(tensor, tensor, None if is_zero else initial)
