"""generated/executorch_suite.md: what becomes of ExecuTorch's suites, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tests.executorch.suite.columns import Column, all_runs
from tests.executorch.suite.outcome import Kind, Outcome

_INTRODUCTION = """# ExecuTorch's operator suites

What Spirloom does, as ExecuTorch's Vulkan backend, with the input cases of
`executorch/backends/vulkan/test/op_tests/cases.py` (ExecuTorch 1.5.1, unchanged): a module for
each, lowered by ExecuTorch's partitioner, run by its runtime, compared with PyTorch at the suite's
tolerances, 64-bit results too. Up to twelve modules of a suite make a program, three where sizes
vary; where not all of them pass, each makes its own. Made by `./dev test-executorch --suite-all`,
or in parts by `python -m tests.executorch.suite`.

Columns: `static`, in the suite's dtypes but half floats; `half`, in half floats; `dynamic`, with
`require_dynamic_shapes`, where all sizes of inputs vary that PyTorch lets vary, run at the greatest
and at about half of them; `force_fp16`, floats computed in half floats, within 1e-2.
"""

_MEANING = {
    Kind.PASSES: "passes",
    Kind.LEFT: "left by the partitioner",
    Kind.REFUSED: "refused by Spirloom",
    Kind.OTHER: "not exported or run by PyTorch or ExecuTorch",
    Kind.WRONG: "wrong",
    Kind.CRASH: "crash",
}


def page(outcomes: Mapping[str, Outcome]) -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_summary(outcomes), *_suites(outcomes), *_reasons(outcomes)])


def passing_share(outcomes: Mapping[str, Outcome]) -> float:
    """Of what the partitioner delegates and PyTorch and ExecuTorch run, what passes."""
    count = Counter(outcome.kind for outcome in outcomes.values())
    delegated = sum(count.values()) - count[Kind.LEFT] - count[Kind.OTHER]
    return count[Kind.PASSES] / max(delegated, 1)


def _summary(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    missing = Counter(_column(run) for run in all_runs() if run not in outcomes)
    yield "## Summary\n"
    yield from _head(["", *Column])
    for kind, meaning in _MEANING.items():
        counts = [_of(outcomes, column)[kind] for column in Column]
        yield _row([meaning, *map(str, counts)])
    if missing:
        yield _row(["not tried", *(str(missing[column]) for column in Column)])
    shares = [
        passing_share({run: each for run, each in outcomes.items() if _column(run) is column})
        for column in Column
    ]
    yield _row(["passes, of what is delegated", *(f"{share:.1%}" for share in shares)])
    yield ""


def _suites(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    yield "## Suites\n"
    yield "Counts of what passes; others follow: l(eft), r(efused), o(ther), w(rong), c(rash).\n"
    yield from _head(["suite", *Column])
    for suite in dict.fromkeys(_suite(run) for run in outcomes):
        cells = [_cell(_of(outcomes, column, suite)) for column in Column]
        yield _row([f"`{suite}`", *cells])
    yield ""


def _reasons(outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    for kind, meaning in _MEANING.items():
        found = Counter(
            (_suite(run), _short(outcome.reason))
            for run, outcome in outcomes.items()
            if outcome.kind is kind and kind is not Kind.PASSES
        )
        if not found:
            continue
        yield f"## {meaning[0].upper()}{meaning[1:]}\n"
        yield from _head(["suite", "cases", "reason"])
        for (suite, reason), count in sorted(found.items()):
            yield _row([f"`{suite}`", str(count), reason])
        yield ""


def _column(run: str) -> Column:
    return Column(run.split("/", 1)[0])


def _suite(run: str) -> str:
    return run.split("/", 1)[1].split("#")[0]


def _of(outcomes: Mapping[str, Outcome], column: Column, suite: str = "") -> Counter[Kind]:
    return Counter(
        outcome.kind
        for run, outcome in outcomes.items()
        if _column(run) is column and suite in ("", _suite(run))
    )


def _cell(counts: Counter[Kind]) -> str:
    if not counts:
        return "–"
    others = [f"{counts[kind]} {kind[0]}" for kind in Kind if kind is not Kind.PASSES]
    return " ".join([str(counts[Kind.PASSES]), *(each for each in others if each[0] != "0")])


def _short(reason: str) -> str:
    """A line that does not break the table."""
    return " ".join(reason.split()).replace("|", "\\|")[:300]


def _head(cells: Iterable[str]) -> Iterator[str]:
    row = list(cells)
    yield _row(row)
    yield _row(["---"] * len(row))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
