"""The Spirloom operators of ONNX operators, from the suite: generated/onnx_operators.txt."""

from __future__ import annotations

from collections.abc import Iterable, Set

from spirloom.op_library import OpLibrary

from tests.onnx_suite.more_models import more_operators
from tests.onnx_suite.outcome import Outcome

HEAD = """\
# ONNX operator: the Spirloom operators that implement it, each without others (except views and
# casts) in some case. Generated from ONNX's test suite by ./dev update.
"""
CAST = "aten._to_copy"


def operators_text(outcomes: Iterable[Outcome], library: OpLibrary) -> str:
    """The content of the file."""
    found: dict[str, set[str]] = {}
    for name, ops in [*_suite(outcomes), *more_operators(library)]:
        found.setdefault(name, set()).update(_implementation(ops, library))
    for ops in found.values():
        if len(ops) > 1:  # no-ops copy the input
            ops.discard(CAST)
    lines = (f"{name}: {' '.join(sorted(ops))}\n" for name, ops in sorted(found.items()) if ops)
    return HEAD + "".join(lines)


def _suite(outcomes: Iterable[Outcome]) -> Iterable[tuple[str, Set[str]]]:
    """The ONNX operator of each case that runs, with the operators of its graph."""
    for outcome in outcomes:
        if outcome.group == "node" and "_expanded" not in outcome.name:
            for run in outcome.runs[:1]:
                if run.inputs:  # otherwise computed at import
                    yield outcome.operator, set(run.op.split())


def _implementation(ops: Set[str], library: OpLibrary) -> Set[str]:
    """The only operator except views and casts. Empty if there are several."""
    work = {op for op in ops if op != CAST and not library.is_view(op)} or ops - {CAST} or ops
    return work if len(work) == 1 else set()
