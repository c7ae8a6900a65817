"""In-place operators, memory layouts, and buffers that a program updates (graph states)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array, State, Tensor
from spirloom.torch.program import (
    ArgValue,
    Call,
    InvalidSize,
    Kind,
    Program,
    Ref,
    SizeExpr,
    TensorMeta,
)
from spirloom.torch.values import device_type


def is_dense(sizes: Sequence[int], strides: Sequence[int], storage_offset: int) -> bool:
    """Whether a layout is contiguous, row-major, with offset 0."""
    count = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1 and stride != count:
            return 0 in sizes
        count *= size
    return storage_offset == 0


def refuse_strided_view(call: Call, program: Program, sizes: Mapping[str, int]) -> None:
    """Raises Unsupported for as_strided of a tensor whose layout differs on the device."""
    given = call.arguments[0].value if call.arguments else None
    meta = program.metas.get(given.name) if isinstance(given, Ref) else None
    if meta is None or not isinstance(given, Ref):
        return
    try:
        shape, strides = (tuple(_int(n, sizes) for n in ns) for ns in (meta.shape, meta.strides))
        dense = is_dense(shape, strides, _int(meta.storage_offset, sizes))
    except InvalidSize:
        dense = False
    if not dense:
        raise Unsupported(f"it depends on the layout of '{given.name}', which is not contiguous")


def _int(size: int | SizeExpr, sizes: Mapping[str, int]) -> int:
    return size.value(sizes) if isinstance(size, SizeExpr) else size


# Results that share memory with their first argument.
_VIEWS = frozenset({
    "aten.alias", "aten.as_strided", "aten.chunk", "aten.contiguous", "aten.detach",
    "aten.diagonal", "aten.expand", "aten.expand_as", "aten.flatten.using_ints", "aten.mT",
    "aten.movedim.int", "aten.narrow", "aten.numpy_T", "aten.permute", "aten.real",
    "aten.reshape", "aten.select.int", "aten.slice.Tensor", "aten.split.Tensor",
    "aten.split_with_sizes", "aten.squeeze", "aten.squeeze.dim", "aten.squeeze.dims", "aten.t",
    "aten.to.dtype", "aten.to.device", "aten.transpose.int", "aten.unbind.int",
    "aten.unflatten.int", "aten.unfold", "aten.unsqueeze", "aten.view", "aten.view_as",
    "aten.dropout", "aten.lift_fresh",
})  # fmt: skip
_REMEDY = "save exported.run_decompositions({}) instead, which has no in-place operators"


def out_of_place(target: str) -> tuple[str, str | None]:
    """The out-of-place variant of an in-place operator: aten.add_.Tensor → aten.add.Tensor.

    Second, the in-place operator; None if `target` is not in place.
    """
    parts = target.split(".")
    name = parts[1] if len(parts) > 1 else ""
    if parts[0] != "aten" or not name.endswith("_") or name.endswith("__") or name == "_":
        return target, None
    if name in ("detach_", "requires_grad_"):
        return target, None
    return ".".join([parts[0], name[:-1], *parts[2:]]), target


def written_buffers(program: Program) -> dict[str, Ref]:
    """The buffers that calls write in place, with the references to their inputs."""
    weights = {given.name: given.target for given in program.inputs if given.kind is Kind.WEIGHT}
    firsts = [
        call.arguments[0].value
        for call in program.calls
        if call.arguments and out_of_place(call.target)[1] is not None
    ]
    return {
        weights[first.name]: first
        for first in firsts
        if isinstance(first, Ref) and first.name in weights
    }


def refuse_aliased_write(call: Call, program: Program) -> None:
    """Raises Unsupported if a call writes an input, or a tensor with another view read later.

    Writing a buffer itself is supported: it is a state.
    """
    written = call.arguments[0].value if call.arguments else None
    if not isinstance(written, Ref):
        raise Unsupported(f"it is an in-place operator without a tensor argument; {_REMEDY}")
    shared = _shared(written.name, program, call)
    inputs = {given.name for given in program.inputs}
    if shared & inputs and not _is_buffer(written.name, program):
        kinds = {given.name: given for given in program.inputs}
        source = kinds[min(shared & inputs)]
        what = "weight" if source.kind is Kind.WEIGHT else "input"
        name = source.target or source.name
        remedy = f"; {_REMEDY}" if source.kind is Kind.WEIGHT else ""
        raise Unsupported(f"it writes the {what} '{name}' in place{remedy}")
    later = program.calls[program.calls.index(call) + 1 :]
    results = {name for result in call.results for name in value_names(result)}
    others = shared - {written.name} - results
    read = [argument.value for user in later for argument in user.arguments]
    for given in (*read, *program.outputs):
        if others & set(value_names(given)):
            raise Unsupported(f"it writes a tensor in place that has another view; {_REMEDY}")


def _is_buffer(name: str, program: Program) -> bool:
    return any(given.name == name and given.kind is Kind.WEIGHT for given in program.inputs)


def _shared(name: str, program: Program, before: Call) -> set[str]:
    """The values that may share memory with this value."""
    groups: dict[str, set[str]] = {}
    for call in program.calls:
        if call is before:
            break
        target, written = out_of_place(call.target)
        if (target in _VIEWS or written is not None) and call.arguments:
            first = call.arguments[0].value
            if isinstance(first, Ref):
                group = groups.setdefault(first.name, {first.name})
                for result in call.results:
                    for view in value_names(result):
                        group.add(view)
                        groups[view] = group
    return groups.get(name, {name})


def value_names(given: ArgValue | tuple[str, ...]) -> list[str]:
    """The names of the values that an argument or result consists of."""
    items = given if isinstance(given, tuple) else (given,)
    return [i.name if isinstance(i, Ref) else i for i in items if isinstance(i, Ref | str)]


def updates_of(program: Program) -> Mapping[str, Ref]:
    """The new values of buffers, by name. Raises ImportFailure if the program writes others."""
    kept = {i.target: Ref(i.name) for i in program.inputs if i.target in program.kept}
    updates = {**kept, **written_buffers(program), **program.updates}
    others = [name for name in program.mutated if name not in updates]
    if others:
        raise ImportFailure(
            f"{program.where} writes {', '.join(map(repr, others[:5]))} in place; only buffers are "
            "supported. Make them buffers, or inputs and outputs of the module."
        )
    return updates


def state_of(name: str, meta: TensorMeta, values: Array) -> State:
    """The state of a buffer, with its initial values. The update is set later."""
    try:
        tensor = Tensor(name, device_type(meta.dtype), tuple(values.shape))
    except Unsupported as error:
        raise ImportFailure(f"Buffer '{name}': {error}.") from error
    initial = np.ascontiguousarray(values, dtype=tensor.dtype.numpy).reshape(tensor.shape)
    if values.dtype.kind in "iu" and not np.array_equal(initial, values):
        raise ImportFailure(f"Buffer '{name}' has values out of range of {tensor.dtype.long_name}.")
    is_zero = not initial.reshape(-1).view(np.uint8).any()
    return State(tensor, tensor, None if is_zero else initial)
