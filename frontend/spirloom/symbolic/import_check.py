"""Compares imported graphs with what their models compute at fixed sizes, by the references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.sizes import Symbol
from spirloom.symbolic.computed import Incomparable, difference
from spirloom.symbolic.specialize import sizes_text, specialize
from spirloom.terminal import Report, silent

Make = Callable[[Mapping[str, int]], Graph]


@dataclass
class ImportCheck:
    """Compares imports with their models; `lines` are its results, for people."""

    report: Report = silent
    lines: list[str] = field(default_factory=list)

    def compare(
        self, graph: Graph, plain: Make, symbols: Sequence[Symbol], library: OpLibrary
    ) -> None:
        """Compares a graph with the model at the smallest, an odd and the largest sizes. Integers
        must fit their dtypes: those that replace int64 were narrowed by proofs. Raises
        ImportFailure for a difference."""
        for sizes in _compared_sizes(symbols):
            where = f" at {sizes_text(sizes)}" if sizes else ""
            self.report(f"Comparing with the references{where}")
            special = specialize(graph, sizes, library) if sizes else graph
            try:
                found = difference(plain(sizes), special, library, strict=True)
            except Incomparable as error:
                self.lines.append(f"not compared with the references{where}: {error}")
                continue
            if found:
                raise ImportFailure(
                    f"The imported model is wrong{where}: {found}. Please report this: spirloom "
                    "bug-report MODEL. --skip-pass or fixed sizes may avoid it."
                )
            self.lines.append(f"the same results as the references{where}")


def _compared_sizes(symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """The smallest, odd and largest sizes; of a model of fixed sizes, these."""
    rows = [(s.min, min((s.min + s.max) // 2 | 1, s.max), s.max) for s in symbols]
    names = [symbol.name for symbol in symbols]
    points = [dict(zip(names, column, strict=True)) for column in zip(*rows, strict=True)] or [{}]
    return [point for i, point in enumerate(points) if point not in points[:i]]


_active: list[ImportCheck] = []


@contextmanager
def checking_imports(report: Report = silent) -> Iterator[ImportCheck]:
    """Within it, every imported graph is compared with its model."""
    check = ImportCheck(report)
    _active.append(check)
    try:
        yield check
    finally:
        _active.remove(check)


def check_import(graph: Graph, plain: Make, symbols: Sequence[Symbol], library: OpLibrary) -> None:
    """Compares an imported graph with `plain`, the model at fixed sizes, where this was asked."""
    for check in _active:
        check.compare(graph, plain, symbols, library)
