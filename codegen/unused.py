"""Definitions of a spec's own that nothing uses: most likely a name is misspelt elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen.errors import ErrorList, SpecError
from codegen.expr.types import Expr
from codegen.signature import Signature
from codegen.spec import Kernel, Let


def check_lets(
    spec: str, signature: Signature, kernels: Iterable[Kernel], further: Iterable[Expr]
) -> None:
    """Fails at the entries of `let` in the file `spec` that no expression uses.

    Those of a template are for whichever of its users want them.
    """
    used: set[str] = set()
    for expression in (*_of_signature(signature), *_of_kernels(kernels), *further):
        used |= expression.names
    errors = ErrorList()
    for let in signature.steps:
        if isinstance(let, Let) and let.name not in used and let.position.file == spec:
            with errors:
                raise SpecError.at(let.position, f"'{let.name}' is used nowhere; remove it.")
    errors.raise_any()


def _of_signature(signature: Signature) -> Iterator[Expr]:
    for step in signature.steps:
        yield step.value if isinstance(step, Let) else step.condition
    for output in signature.outputs:
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
