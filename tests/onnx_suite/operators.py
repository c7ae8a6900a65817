"""What ONNX operators become, as the suite's cases show: generated/onnx_operators.txt."""

from __future__ import annotations

from collections.abc import Iterable, Set

from spirloom.ops import OpLibrary

from tests.onnx_suite.more_models import more_operators
from tests.onnx_suite.outcome import Outcome

HEAD = """\
# ONNX operator: the operators that do what it does, each alone in some case, views and casts apart.
# Made from ONNX's test suite by ./dev update.
"""
CAST = "aten._to_copy"


def operators_text(outcomes: Iterable[Outcome], library: OpLibrary) -> str:
    """The file."""
    found: dict[str, set[str]] = {}
    for name, ops in [*_suite(outcomes), *more_operators(library)]:
        found.setdefault(name, set()).update(_doing(ops, library))
    for ops in found.values():
        if len(ops) > 1:  # where there is nothing to do, the input is copied
            ops.discard(CAST)
    lines = (f"{name}: {' '.join(sorted(ops))}\n" for name, ops in sorted(found.items()) if ops)
    return HEAD + "".join(lines)


def _suite(outcomes: Iterable[Outcome]) -> Iterable[tuple[str, Set[str]]]:
    """Of each case that runs the ONNX operator and those of the graph it became."""
    for outcome in outcomes:
        if outcome.group == "node" and "_expanded" not in outcome.name:
            for run in outcome.runs[:1]:
                if run.inputs:  # else it was computed at import
                    yield outcome.operator, set(run.op.split())


def _doing(ops: Set[str], library: OpLibrary) -> Set[str]:
    """The one operator that does the work; none if several share it."""
    work = {op for op in ops if op != CAST and not library.is_view(op)} or ops - {CAST} or ops
    return work if len(work) == 1 else set()
