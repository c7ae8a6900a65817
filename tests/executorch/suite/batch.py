"""Runs several cases as one program: if it passes, all do, in a fraction of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch

from tests.executorch.programs import load, run
from tests.executorch.suite.attempt import (
    difference,
    lowered,
    prepared,
    reference,
    smaller,
    tolerances,
)
from tests.executorch.suite.cases import Call, Case
from tests.executorch.suite.columns import Column

# Maximum cases per program. Exports with many dynamic sizes are slow.
_MAX = dict.fromkeys(Column, 12) | {Column.DYNAMIC: 3}


class _Calls(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, calls: Sequence[Call]) -> None:
        super().__init__()
        self.calls = torch.nn.ModuleList(calls)

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results: list[torch.Tensor] = []
        offset = 0
        for call in self.calls:
            found = call(*inputs[offset : offset + len(call.inputs)])
            results += list(found) if isinstance(found, tuple | list) else [found]
            offset += len(call.inputs)
        return tuple(results)


def groups(runs: Sequence[str]) -> Iterator[list[str]]:
    """Groups of consecutive runs of one column and suite."""
    for key, found in groupby(runs, lambda run: run.split("#")[0]):
        same, limit = list(found), _MAX[Column(key.split("/")[0])]
        yield from (same[i : i + limit] for i in range(0, len(same), limit))


def all_pass(cases: Sequence[Case], column: Column) -> bool:
    """Whether all cases pass in one program. If not, single runs find the failing one."""
    calls = [prepared(case, column) for case in cases]
    module = _Calls(calls)
    inputs = tuple(x for call in calls for x in call.inputs)
    try:
        counts = [len(reference(call, tuple(call.inputs), column)) for call in calls]
        program = lowered(module, inputs, column)
        if program.delegates == 0 or program.kernels:
            return False
        method = load(program.buffer)
        cut = smaller(module, program, inputs)
        if column is Column.DYNAMIC and not cut:
            return False
        return all(_agree(cases, column, counts, module, method, x) for x in [inputs, *cut])
    except Exception:  # single runs report the failing case
        return False


def _agree(
    cases: Sequence[Case],
    column: Column,
    counts: Sequence[int],
    module: torch.nn.Module,
    method: object,
    inputs: tuple[torch.Tensor, ...],
) -> bool:
    given, expected = run(method, inputs), reference(module, inputs, column)
    first = 0
    for case, count in zip(cases, counts, strict=True):
        part = slice(first, first + count)
        if difference(given[part], expected[part], tolerances(case, column)):
            return False
        first += count
    return len(given) == len(expected) == first
