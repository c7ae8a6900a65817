"""The operator table that people read: one row per operator, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen.loader import Library
from codegen.op import Op
from codegen.spec import Arg


def op_table_text(library: Library) -> str:
    """The table of all operators in order of name."""
    return "\n".join(_lines(library)) + "\n"


def _lines(library: Library) -> Iterator[str]:
    yield "# Operators"
    yield ""
    yield "Made from the specs by `./dev update`. A `*` marks arguments with a default."
    yield ""
    yield "| operator | arguments | computes | dtypes | storages | kernels | variants |"
    yield "|---|---|---|---|---|---|---|"
    for op in library.ops.values():
        kernels = ", ".join(kernel.name for kernel in op.kernels)
        yield (
            f"| [`{op.name}`](../{op.position.file}) | {', '.join(map(_argument, op.args))} "
            f"| {_formula(op)} | {_values(op, 'dtype')} | {_values(op, 'storage')} "
            f"| {kernels} | {len(op.variants)} |"
        )


def _argument(arg: Arg) -> str:
    return arg.name if arg.default is None and not arg.optional else f"{arg.name}\\*"


def _formula(op: Op) -> str:
    lines = op.formula.splitlines()
    return "`` " + lines[0].replace("|", "\\|") + " ``" if lines else ""


def _values(op: Op, axis: str) -> str:
    """The values of an axis that any kernel has, in the order of the specs."""
    found: Iterable[str] = (
        str(value)
        for kernel in op.kernels
        for declared in kernel.axes
        if declared.name == axis
        for value in declared.values
    )
    return ", ".join(dict.fromkeys(found))
