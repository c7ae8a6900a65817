"""Imports a program of symbolic sizes once, and compares with an import at the minimum sizes."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from spec_model.expr.types import EvalError
from spec_model.symbolic import Guard, Guards, SizeError, Unguarded, general, sym
from spec_model.symbolic.expr import at_maximum
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Graph
from spirloom.leading_parts import slice_constants
from spirloom.number_expr import SymFloat, stored
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import Symbol, SymInt, Varying, expression
from spirloom.symbolic.import_check import Make, check_import
from spirloom.symbolic.minimum import check_minimum
from spirloom.symbolic.specialize import Impossible, specialize

log = logging.getLogger("spirloom")


class NotSymbolic(ImportFailure):
    """The graph is not the same at all sizes, or has a size without a formula."""


class Refuted(NotSymbolic):
    """The model has another structure at some sizes, for which the guard does not hold."""

    def __init__(self, guard: Guard, reason: str) -> None:
        super().__init__(
            f"The model cannot vary in size: {guard.source} relies on {guard}, which {reason}. "
            "Set bounds for which it holds with --dim NAME=MIN..MAX (in Python dims=), or import "
            "the model with fixed sizes."
        )
        self.guard = guard


class TooSmall(NotSymbolic):
    """A call is not valid at the minima of the symbols, but at those of `narrowed`."""

    def __init__(self, error: Impossible, narrowed: Sequence[Symbol]) -> None:
        super().__init__(str(error))
        self.reason = error.reason
        self.narrowed = narrowed


def import_graph(
    plain: Make,
    optimize: Callable[[Graph], Graph],
    symbols: Sequence[Symbol],
    library: OpLibrary,
) -> Graph:
    """The optimized graph of a model: of all sizes within the bounds of its symbols, as
    open_graph(), or without symbols of fixed sizes. Raises ImportFailure."""
    if symbols:
        return open_graph(plain, optimize, symbols, library)
    graph = optimize(plain({}))
    check_import(graph, plain, symbols, library)
    return graph


def open_graph(
    plain: Make,
    optimize: Callable[[Graph], Graph],
    symbols: Sequence[Symbol],
    library: OpLibrary,
    compared_at: Mapping[str, int] | None = None,
) -> Graph:
    """The graph of all sizes within the symbols' bounds. `plain` imports it at sizes that may be
    symbolic, `optimize` applies the passes, in place. The graph is compared with that of the sizes
    `compared_at`, by default the minima.

    If the model has another structure at small sizes, or is not valid, a guard is kept: the range
    of its symbol is narrowed, and `guards` of the graph contains its text.

    Raises ImportFailure, which names the node, for a node that cannot vary.
    """
    smallest = {symbol.name: symbol.min for symbol in symbols}
    try:
        return _imported_once(plain, optimize, symbols, library, compared_at or smallest)
    except Refuted as error:
        one = error.guard.narrowed()
        if one is None or compared_at is not None:
            raise
        narrowed: Sequence[Symbol] = [one]
        text = f"{error.guard.source} relies on {error.guard}"
    except TooSmall as error:
        if compared_at is not None:
            raise
        narrowed, text = error.narrowed, error.reason
    except (EvalError, SizeError, OpError) as error:
        raise ImportFailure(
            f"The model cannot vary in size: {error}. Import it with fixed sizes."
        ) from error
    for symbol in narrowed:
        log.warning("--dim %s is narrowed to %d..%d: %s.",
                    symbol.name, symbol.min, symbol.max, text)  # fmt: skip
    by_name = {symbol.name: symbol for symbol in narrowed}
    left = [by_name.get(symbol.name, symbol) for symbol in symbols]
    graph = open_graph(plain, optimize, left, library)
    graph.guards = (text, *graph.guards)
    return graph


def _imported_once(
    plain: Make,
    optimize: Callable[[Graph], Graph],
    symbols: Sequence[Symbol],
    library: OpLibrary,
    compared_at: Mapping[str, int],
) -> Graph:
    with general(Guards()) as guards:
        try:
            graph = plain({symbol.name: sym(symbol) for symbol in symbols})
        except Unguarded as error:
            raise Refuted(error.guard, error.guard.refutation() or str(error)) from error
        _refuse(guards)
        try:
            raw = specialize(graph, compared_at, library)
        except Impossible as error:
            raise _too_small(error, graph, symbols, library) from error
        optimize(graph)
        _refuse(guards)
        graph = settled(graph, library)
    graph.symbols = tuple(symbols)
    try:  # passes may have fused operators that are valid at fewer sizes
        for sizes in _points(symbols):
            specialize(graph, sizes, library)
        special = specialize(graph, compared_at, library)
    except Impossible as error:
        raise _too_small(error, graph, symbols, library) from error
    check_minimum(special, plain(compared_at), raw, compared_at, library)
    check_import(graph, plain, symbols, library)
    return graph


def _too_small(
    error: Impossible, graph: Graph, symbols: Sequence[Symbol], library: OpLibrary
) -> ImportFailure:
    """The failure at the minima, with the symbols whose larger sizes are valid."""

    def is_valid(symbol: Symbol, size: int) -> bool:
        sizes = {other.name: other.max for other in symbols} | {symbol.name: size}
        try:
            specialize(graph, sizes, library)
        except Impossible:
            return False
        return True

    narrowed = []
    for symbol in symbols:
        if is_valid(symbol, symbol.min):
            continue
        low = bisect_left(range(symbol.max), True, symbol.min, key=partial(is_valid, symbol))
        if low == symbol.max:
            return error
        narrowed.append(Symbol(symbol.name, low, symbol.max))
    return TooSmall(error, narrowed) if narrowed else error


def _points(symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """Sizes at which shapes are inferred: both ends of all ranges, and their middles."""
    ends = [(s.min, (s.min + s.max) // 2, s.max) for s in symbols]
    return [{s.name: e[i] for s, e in zip(symbols, ends, strict=True)} for i in range(3)]


def _refuse(guards: Guards) -> None:
    """Raises NotSymbolic for a comparison with different outcomes at different sizes."""
    for guard in guards.assumed:
        reason = guard.refutation()
        if reason is not None:
            raise Refuted(guard, reason)
    guards.assumed.clear()


def settled(graph: Graph, library: OpLibrary) -> Graph:
    """The graph with symbolic ints in the form of graph files, in place."""
    slice_constants(graph, library)
    for tensor in graph.tensors():
        tensor.shape = tuple(map(_dimension, tensor.shape))
    for node in graph.nodes:
        node.args = tuple(_argument(arg, node.name) for arg in node.args)
    return graph


def _dimension(size: int) -> int:
    return (
        Varying(at_maximum(size.size), expression(size.size)) if isinstance(size, SymInt) else size
    )


def _argument(value: ArgValue, node: str) -> ArgValue:
    if isinstance(value, SymFloat):
        number = stored(value)
        if number is None:
            raise _without_form(value, node)
        return number
    if isinstance(value, SymInt):
        found = expression(value.size)
        if found is None:
            raise _without_form(value, node)
        return Varying(at_maximum(value.size), found)
    if isinstance(value, tuple) and any(isinstance(item, SymInt) for item in value):
        return tuple(_argument(item, node) for item in value)  # type: ignore[return-value]
    return value


def _without_form(value: object, node: str) -> NotSymbolic:
    return NotSymbolic(
        f"The model cannot vary in size: node '{node}' has an argument {value}, for which graph "
        "files have no form. Import it with fixed sizes."
    )
