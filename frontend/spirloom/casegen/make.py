"""Turns an op's runs into cases."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import Op
from spirloom import graph_file
from spirloom.casegen.arrays import Arrays, make_arrays
from spirloom.casegen.case_graph import build_graph
from spirloom.casegen.case_pack import Case
from spirloom.casegen.expand import Run, runs_of
from spirloom.casegen.values import CaseError


def cases_of(op: Op) -> Iterator[Case]:
    """All cases of an op. Runs of one case in equal dtypes share their arrays."""
    made: dict[tuple[object, ...], Arrays] = {}
    for run in runs_of(op):
        key = (run.case, *run.dtypes.items(), *(output.dtype for output in run.outputs))
        try:
            if key not in made:
                made[key] = make_arrays(run)
            yield _make_case(run, made[key])
        except CaseError as error:
            raise CaseError(f"{run.test.position}: error: {error}   ({run.id})") from error


def _make_case(run: Run, arrays: Arrays) -> Case:
    built = build_graph(run, arrays)
    tolerances = [run.op.tolerance[output.dtype] for output in run.outputs]
    return Case(
        id=run.id,
        op=run.op.name,
        variant=run.variant.id,
        kernel=run.variant.kernel.name,
        storage=run.variant.storage,
        graph=graph_file.to_bytes(built.graph),
        inputs=built.inputs,
        expected=arrays.expected,
        rtol=max(tolerance.rtol for tolerance in tolerances),
        atol=max(tolerance.atol for tolerance in tolerances),
        unfinished=arrays.unfinished,
    )
