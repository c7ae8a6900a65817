"""Operators that write in place: what they become, where nothing else sees the same memory."""

from __future__ import annotations

from spirloom.errors import Unsupported
from spirloom.torch.program import Call, Given, Kind, Program, Ref

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
_REMEDY = "save exported.run_decompositions({}) instead, in which nothing is written in place"


def functional(target: str) -> tuple[str, str | None]:
    """The operator that gives what one in place writes: aten.add_.Tensor → aten.add.Tensor.

    Second, what it was; None if it writes nothing.
    """
    parts = target.split(".")
    name = parts[1] if len(parts) > 1 else ""
    if parts[0] != "aten" or not name.endswith("_") or name.endswith("__") or name == "_":
        return target, None
    if name in ("detach_", "requires_grad_"):
        return target, None
    return ".".join([parts[0], name[:-1], *parts[2:]]), target


def written_buffers(program: Program) -> dict[str, Ref]:
    """The buffers that calls write themselves, which bear the names of inputs all along."""
    weights = {given.name: given.target for given in program.inputs if given.kind is Kind.WEIGHT}
    firsts = [
        call.arguments[0].value
        for call in program.calls
        if call.arguments and functional(call.target)[1] is not None
    ]
    return {
        weights[first.name]: first
        for first in firsts
        if isinstance(first, Ref) and first.name in weights
    }


def refuse_aliased(call: Call, program: Program) -> None:
    """Unsupported if the tensor that a call writes is an input, or seen through another view.

    A buffer may be written by its own name: it is a state.
    """
    written = call.arguments[0].value if call.arguments else None
    if not isinstance(written, Ref):
        raise Unsupported(f"it writes in place; {_REMEDY}")
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
    results = {name for result in call.results for name in _names(result)}
    others = shared - {written.name} - results
    read = [argument.value for user in later for argument in user.arguments]
    for given in (*read, *program.outputs):
        if others & set(_names(given)):
            raise Unsupported(f"it writes in place what another view shows; {_REMEDY}")


def _is_buffer(name: str, program: Program) -> bool:
    return any(given.name == name and given.kind is Kind.WEIGHT for given in program.inputs)


def _shared(name: str, program: Program, before: Call) -> set[str]:
    """The values that may lie in the same memory as one of that name."""
    groups: dict[str, set[str]] = {}
    for call in program.calls:
        if call is before:
            break
        target, written = functional(call.target)
        if (target in _VIEWS or written is not None) and call.arguments:
            first = call.arguments[0].value
            if isinstance(first, Ref):
                group = groups.setdefault(first.name, {first.name})
                for result in call.results:
                    for made in _names(result):
                        group.add(made)
                        groups[made] = group
    return groups.get(name, {name})


def _names(given: Given | tuple[str, ...]) -> list[str]:
    items = given if isinstance(given, tuple) else (given,)
    return [i.name if isinstance(i, Ref) else i for i in items if isinstance(i, Ref | str)]
