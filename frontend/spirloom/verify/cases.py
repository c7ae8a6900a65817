"""Runs the test cases of a variant's spec on a device, and judges the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from spec_model import Op
from spirloom.casegen.case_pack import Case
from spirloom.casegen.make import case_of
from spirloom.casegen.runs import Run, is_extreme, runs_of
from spirloom.debug.metrics import Measured, default_tolerance, measure, wide
from spirloom.ir import Array

if TYPE_CHECKING:
    from spirloom.runtime import Runtime

# Larger cases reach more of a kernel's tiles and loops; still larger ones only take time.
_ENOUGH_ELEMENTS = 65536


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one case. `measured` None: the variant did not run, see `note`. `is_extreme`:
    there are extreme or not finite values, where Vulkan allows drivers to differ (numerics.md).
    """

    case: str
    is_extreme: bool
    measured: Measured | None
    note: str = ""


def runs_by_variant(op: Op) -> dict[str, list[Run]]:
    """The runs of the operator's test cases, by the id of their variant."""
    found: dict[str, list[Run]] = {}
    for run in runs_of(op):
        found.setdefault(run.variant.id, []).append(run)
    return found


def chosen(runs: Sequence[Run], all_cases: bool) -> list[Run]:
    """All runs, or as a sample the largest of moderate size, without extreme values if there is
    one.
    """
    if all_cases or not runs:
        return list(runs)
    return [max(runs, key=lambda run: (not is_extreme(run), *_rank(run)))]


def _rank(run: Run) -> tuple[bool, int]:
    elements = sum(prod(tensor.shape) for tensor in run.outputs)
    return (elements <= _ENOUGH_ELEMENTS, elements if elements <= _ENOUGH_ELEMENTS else -elements)


def run_case(runtime: Runtime, op: Op, run: Run, begin: Callable[[], None]) -> Outcome:
    """Runs a case on the device, and compares the outputs with the reference; where that is not
    implemented, with the operator's most general kernel on the device. Calls `begin` before the
    device is used.

    Raises the errors of the runtime.
    """
    case = case_of(run)
    begin()
    outputs, variants = _outputs(runtime, case, (case.kernel or "",))
    if case.variant not in variants and any(prod(each.data.shape) for each in case.expected):
        return Outcome(
            run.id, False, None, f"not selected; used: {', '.join(variants) or 'a view'}"
        )
    expected = [each.data for each in case.expected]
    if case.unfinished:
        expected, _ = _outputs(runtime, case, (op.kernels[-1].name,))
    found = [
        measure(y, reference, _tolerance(case, i), accumulated=False)
        for i, (y, reference) in enumerate(zip(outputs, expected, strict=True))
    ]
    worst = max(found, key=lambda each: (each.wrong, each.relative))
    arrays = [*(each.data for each in case.inputs), *expected]
    special = is_extreme(run) or not all(map(_is_finite, arrays))
    return Outcome(run.id, special, worst)


def _is_finite(array: Array) -> bool:
    return bool(np.isfinite(wide(array)).all())


def _tolerance(case: Case, output: int) -> float:
    dtype = case.expected[output].dtype
    return max(default_tolerance(dtype, accumulated=False), case.tolerances[output].rtol)


def _outputs(
    runtime: Runtime, case: Case, kernels: tuple[str, ...]
) -> tuple[list[Array], list[str]]:
    """The outputs, and the variants that computed them."""
    with runtime.load(
        case.graph,
        storage=str(case.storage),  # type: ignore[arg-type]
        kernels=kernels,
        profile=True,
    ) as model:
        results = model.run({each.name: each.data for each in case.inputs})
        variants = [row.variant for row in model.profile()]
        return [np.array(each) for each in results], variants
