"""Definitions of a spec's own that nothing uses: most likely a name is misspelt elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from codegen.errors import ErrorList, SpecError
from codegen.expr.types import Expr
from codegen.spec import Check, Kernel, Let, Output


def unused_lets(
    steps: Iterable[Let | Check],
    outputs: Iterable[Output],
    kernels: Iterable[Kernel],
    view_at: Expr | None,
) -> list[Let]:
    """The lets that no expression uses."""
    steps = list(steps)
    used = frozenset[str]() if view_at is None else view_at.names
    for expression in (*_of_steps(steps), *_of_outputs(outputs), *_of_kernels(kernels)):
        used |= expression.names
    return [step for step in steps if isinstance(step, Let) and step.name not in used]


def check_lets(spec: str, lets: Sequence[Let]) -> None:
    """Fails at those of the unused lets that stand in the file `spec`.

    Those of a template are for whichever of its users want them.
    """
    errors = ErrorList()
    for let in lets:
        if let.position.file == spec:
            with errors:
                raise SpecError.at(let.position, f"'{let.name}' is used nowhere; remove it.")
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
        optional = [kernel.when, kernel.prefer, kernel.repeat, kernel.joined_at]
        optional += [axis.of for axis in kernel.axes]
        optional += [arg for x in kernel.operands if x.pack is not None for arg in x.pack.args]
        yield from (expression for expression in optional if expression is not None)
