"""Turns an op's runs into cases."""

from __future__ import annotations

from collections.abc import Iterator

from codegen import Diagnostic, Op, SpecError
from spirloom import graph_file
from spirloom.casegen.arrays import Arrays, make_arrays
from spirloom.casegen.case_graph import build_graph
from spirloom.casegen.case_pack import Case
from spirloom.casegen.expand import runs_of
from spirloom.casegen.run import Run
from spirloom.casegen.uniform import UniformOutputs
from spirloom.casegen.values import CaseError


def cases_of(op: Op) -> Iterator[Case]:
    """All cases of an op. Runs of one case in equal dtypes share their arrays.

    Fails with a SpecError at the test or at the reference's line.
    """
    made: dict[tuple[object, ...], Arrays] = {}
    outputs = UniformOutputs()
    for run in runs_of(op):
        key = (run.case, *run.dtypes.items(), *(output.dtype for output in run.outputs))
        if key not in made:
            made[key] = _arrays(run)
        outputs.add(run, made[key])
        yield _make_case(run, made[key])
    outputs.check()


def _arrays(run: Run) -> Arrays:
    try:
        return make_arrays(run)
    except CaseError as error:
        raise SpecError.at(run.test.position, f"{error} (In {run.id}.)") from error
    except SpecError as error:
        raise SpecError(
            Diagnostic(each.position, f"{each.message} (In {run.id}.)")
            for each in error.diagnostics
        ) from error


def _make_case(run: Run, arrays: Arrays) -> Case:
    built = build_graph(run, arrays)
    return Case(
        id=run.id,
        op=run.op.name,
        variant=run.variant.id,
        kernel=run.variant.kernel.name,
        storage=run.variant.storage,
        graph=graph_file.to_bytes(built.graph),
        inputs=built.inputs,
        expected=arrays.expected,
        tolerances=tuple(run.op.tolerance[output.dtype] for output in run.outputs),
        unfinished=arrays.unfinished,
    )
