"""Cases with extreme numbers, made from an operator's own: the same calls on other inputs.

Every variant gets one: inputs over all that their dtypes hold, with the ends, infinities, NaN and
what lies beyond the precision of a float among them. What a call says of its own stays as it is:
indices (tensors of a dtype of their own), and what the spec's `domain` confines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from codegen import Arg, Op
from codegen.spec import CaseValue, TensorCase, TestCase, Variant
from codegen.vocabulary import Storage
from spirloom.casegen.run import Run

_MANY = 2048  # elements that show enough


def extreme_cases(op: Op, runs: Iterable[Run]) -> Iterator[tuple[str, TestCase]]:
    """Names and calls that together reach every variant that `runs`, the op's own, reach."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(_group(run.variant), []).append(run)
    for group in groups.values():
        yield from _cases_of_group(op, group)


def _group(variant: Variant) -> tuple[object, ...]:
    """What variants have in common that differ in storages alone, and so can share inputs."""
    values = (x for x in variant.values.values() if not isinstance(x, Storage))
    return (variant.kernel.name, *values)


def _cases_of_group(op: Op, group: list[Run]) -> Iterator[tuple[str, TestCase]]:
    """As few cases as reach all variants, and of those that reach as many the largest."""
    by_case: dict[str, list[Run]] = {}
    for run in group:
        by_case.setdefault(run.case, []).append(run)
    waiting = {run.variant.id for run in group}
    while waiting:
        name, best = max(
            by_case.items(),
            key=lambda item: (len(waiting & {r.variant.id for r in item[1]}), *_worth(item[1][0])),
        )
        waiting -= {run.variant.id for run in best}
        if _worth(best[0])[1] > 0:
            yield f"{name}_extremes", _extreme(op, best[0])


def _worth(run: Run) -> tuple[bool, int]:
    """More elements show more, up to where they only cost time."""
    elements = sum(prod(x.shape) for arg in run.op.args for x in _free(run, arg))
    return (elements <= _MANY, elements)


def _free(run: Run, arg: Arg) -> list[TensorCase]:
    """The argument's tensors whose numbers are ours to choose, chosen."""
    value = run.test.args[arg.name]
    if not arg.type.is_tensor or arg.dtype is not None:
        return []
    outputs = {y.name: t.dtype for y, t in zip(run.op.outputs, run.outputs, strict=True)}
    limits = run.op.domain.of(arg.name, run.dtypes[arg.name], outputs)
    if limits is None:
        return []
    items = value if isinstance(value, tuple) else (value,)
    return [
        replace(x, range=None, values=None, extremes=limits)
        for x in items
        if isinstance(x, TensorCase)
    ]


def _extreme(op: Op, run: Run) -> TestCase:
    args: dict[str, CaseValue] = {arg.name: _arg(run, arg) for arg in op.args}
    return replace(
        run.test,
        args=args,
        dtypes=frozenset({run.variant.dtype}),
        kernel=run.variant.kernel.name,
    )


def _arg(run: Run, arg: Arg) -> CaseValue:
    value, free = run.test.args[arg.name], _free(run, arg)
    if not free:
        return value
    return tuple(free) if isinstance(value, tuple) else free[0]
