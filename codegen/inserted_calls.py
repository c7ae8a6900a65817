"""Calls that the runtime makes by itself, copies and packing, must come to an end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from codegen.errors import ErrorList, SpecError
from codegen.op import Op
from codegen.spec import Operand, Pack
from codegen.vocabulary import Storage

_COPY = "spirloom.copy"  # what brings a tensor where a kernel binds it


def check_inserted_calls(ops: Iterable[Op]) -> None:
    """Fails at kernels whose operands take the very call that they are there for."""
    by_name = {op.name: op for op in ops}
    errors = ErrorList()
    for op in by_name.values():
        for operand in _operands(op):
            with errors:
                if op.name == _COPY:
                    _check_copied(operand)
                if operand.pack is not None:
                    _check_packed(op, operand.pack, by_name)
    errors.raise_any()


def _operands(op: Op) -> Iterator[Operand]:
    for kernel in op.kernels:
        yield from kernel.operands


def _check_copied(operand: Operand) -> None:
    if operand.pack is None and not isinstance(operand.storage, Storage):
        return
    message = f"{_COPY} brings tensors to other storages, so that its own '{operand.name}' must be "
    raise SpecError.at(operand.position, message + "taken from wherever a call has it.")


def _check_packed(op: Op, pack: Pack, by_name: Mapping[str, Op]) -> None:
    """Follows the calls that packing for `op` takes, for one of `op` itself."""
    waiting: list[tuple[str, tuple[str, ...]]] = [(pack.op, (op.name, pack.op))]
    seen = set()
    while waiting:
        name, way = waiting.pop()
        if name == op.name:
            message = f"Packing for {op.name} takes {op.name} itself: {' -> '.join(way)}."
            raise SpecError.at(pack.position, message)
        if name in seen or name not in by_name:
            continue
        seen.add(name)
        packs = (x.pack.op for x in _operands(by_name[name]) if x.pack is not None)
        waiting += [(inner, (*way, inner)) for inner in packs]
