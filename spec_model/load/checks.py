"""Checks of loaded specs: unused definitions, and calls that the runtime inserts without end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spec_model.errors import ErrorList, SpecError
from spec_model.expr.types import Expr, Function
from spec_model.op import Op
from spec_model.spec import Check, Kernel, Let, Operand, Output, Pack
from spec_model.vocabulary import Storage


def unused_lets(
    steps: Iterable[Let | Check],
    outputs: Iterable[Output],
    kernels: Iterable[Kernel],
    used: frozenset[str] = frozenset(),
) -> list[Let]:
    """The lets that are not used by any expression. `used`: names used by other keys of the op."""
    steps = list(steps)
    for expression in (*_of_steps(steps), *_of_outputs(outputs), *_of_kernels(kernels)):
        used |= expression.names
    return [step for step in steps if isinstance(step, Let) and step.name not in used]


def check_lets(spec: str, lets: Sequence[Let]) -> None:
    """Fails for unused lets of the file `spec`. Lets of a template may be unused."""
    errors = ErrorList()
    for let in lets:
        if let.position.file == spec:
            with errors:
                raise SpecError.at(let.position, f"'{let.name}' is not used; remove it.")
    errors.raise_any()


def check_functions(spec: str, functions: Iterable[Function]) -> None:
    """Fails for functions of the file `spec` that no expression calls."""
    errors = ErrorList()
    for function in functions:
        if function.position.file == spec and not function.calls:
            with errors:
                raise SpecError.at(function.position, f"{function} is not used; remove it.")
    errors.raise_any()


def _of_steps(steps: Iterable[Let | Check]) -> Iterator[Expr]:
    for step in steps:
        yield step.value if isinstance(step, Let) else step.condition


def _of_outputs(outputs: Iterable[Output]) -> Iterator[Expr]:
    for output in outputs:
        yield from (output.shape, output.dtype)


def _of_kernels(kernels: Iterable[Kernel]) -> Iterator[Expr]:
    for kernel in kernels:
        yield from (member.value for member in kernel.push)
        yield from (constant.value for constant in kernel.constants)
        yield from kernel.grid
        optional = [kernel.when, kernel.prefer, kernel.loop_iterations, kernel.repeat]
        optional.append(kernel.concat_offset)
        optional += [axis.of for axis in kernel.axes]
        optional += [arg for x in kernel.operands if x.pack is not None for arg in x.pack.args]
        yield from (expression for expression in optional if expression is not None)


_COPY = "spirloom.copy"  # copies a tensor to the storage that a kernel binds


def check_inserted_calls(ops: Iterable[Op]) -> None:
    """Fails if inserted copies or packing calls would insert calls of the same op."""
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
    message = (
        f"{_COPY} copies between storages; its '{operand.name}' must accept the storage of the "
    )
    raise SpecError.at(operand.position, message + "call: remove 'pack' and fixed storages.")


def _check_packed(op: Op, pack: Pack, by_name: Mapping[str, Op]) -> None:
    """Fails if packing for `op` calls `op`, directly or indirectly."""
    waiting: list[tuple[str, tuple[str, ...]]] = [(pack.op, (op.name, pack.op))]
    seen = set()
    while waiting:
        name, path = waiting.pop()
        if name == op.name:
            message = f"Packing for {op.name} calls {op.name}: {' -> '.join(path)}."
            raise SpecError.at(pack.position, message)
        if name in seen or name not in by_name:
            continue
        seen.add(name)
        packs = (x.pack.op for x in _operands(by_name[name]) if x.pack is not None)
        waiting += [(inner, (*path, inner)) for inner in packs]
