"""Comparisons of symbolic integers: proven, or decided as the code around them states.

- `strict()`: a comparison that is not proven raises Undecided. Formulas of specs are evaluated so.
- `general(guards)`: importers and passes ask "is it known at import?". An equality that is not
  proven is false, so that code takes the path for all sizes. Of other comparisons, the outcome at
  the maximum sizes is used and recorded in `guards`, which refuses it if other sizes have another
  outcome.

Without either, comparisons are strict.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, islice
from math import prod

from spec_model.expr.types import EvalError
from spec_model.symbolic.bounds import sign, sizes_of
from spec_model.symbolic.expr import Size, SizeError, Symbol, at_maximum


class Undecided(EvalError):
    """A comparison of symbolic integers has not the same outcome at all sizes."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A comparison that a graph relies on: `difference` `relation` 0 is `outcome`.

    `source` names the node of the model, and the code that compared.
    """

    difference: Size
    relation: str
    outcome: bool
    source: str = ""

    def __str__(self) -> str:
        relation = self.relation if self.outcome else OPPOSITE[self.relation]
        return f"{self.difference} {relation} 0"

    def narrowed(self) -> Symbol | None:
        """The symbol with the sizes up to its maximum for which the comparison has this outcome.
        None if there are several symbols, or too many or less than two such sizes.
        """
        if len(self.difference.symbols) != 1:
            return None
        (symbol,) = self.difference.symbols
        low = symbol.max + 1
        while low > symbol.min and symbol.max - low < _MAX_NARROWED:
            value = self.difference.value({symbol.name: low - 1})
            if compared(self.relation, value) is not self.outcome:
                return Symbol(symbol.name, low, symbol.max) if low < symbol.max else None
            low -= 1
        return None

    def refutation(self) -> str | None:
        """Why the comparison may have another outcome: sizes at which it has, the ends of the
        ranges first, or that there are too many sizes to compare. None if all sizes have this one.
        """
        symbols = sorted(self.difference.symbols, key=lambda symbol: symbol.name)
        ends = ({s.name: s.min for s in symbols}, {s.name: s.max for s in symbols})
        all_sizes = islice(sizes_of(frozenset(symbols)), _MAX_COMPARED)
        for sizes in chain(ends, all_sizes):
            if compared(self.relation, self.difference.value(sizes)) is not self.outcome:
                return "is false at " + ", ".join(f"{n}={size}" for n, size in sizes.items())
        if prod(symbol.max - symbol.min + 1 for symbol in symbols) > _MAX_COMPARED:
            return "is not proven for all sizes"
        return None


class Unguarded(SizeError):
    """An operation that is supported only at the sizes of a guard."""

    def __init__(self, message: str, guard: Guard) -> None:
        super().__init__(message)
        self.guard = guard


_MAX_COMPARED = 1 << 12
_MAX_NARROWED = 1 << 17
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(slots=True)
class Guards:
    """The comparisons of one import that are not proven, and the node that is being imported."""

    assumed: dict[Guard, None] = field(default_factory=dict)
    node: str = ""

    def assume(self, difference: Size, relation: str, outcome: bool) -> None:
        """Records a comparison."""
        self.assumed[guard_of(difference, relation, outcome)] = None


def _caller() -> str:
    """The line outside of this package that compares."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(__package__):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


_STRICT = Guards()
_active: ContextVar[Guards] = ContextVar("guards", default=_STRICT)


def guard_of(difference: Size, relation: str, outcome: bool) -> Guard:
    """The guard of a comparison in the node that is being imported."""
    return Guard(difference, relation, outcome, f"{_active.get().node} ({_caller()})")


class strict:
    """Within it, a comparison that is not proven raises Undecided."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _active.set(_STRICT)

    def __exit__(self, *_: object) -> None:
        _active.reset(self._token)


@contextmanager
def general(guards: Guards) -> Iterator[Guards]:
    """Within it, `guards` records comparisons that are not proven."""
    token = _active.set(guards)
    try:
        yield guards
    finally:
        _active.reset(token)


def note(node: str) -> None:
    """Names the node that is being imported, for the sources of guards."""
    _active.get().node = node


def compared(relation: str, difference: int) -> bool:
    """Whether difference `relation` 0 holds."""
    match relation:
        case "==":
            return difference == 0
        case "!=":
            return difference != 0
        case "<":
            return difference < 0
        case "<=":
            return difference <= 0
        case ">":
            return difference > 0
    return difference >= 0


def known(difference: Size, relation: str) -> bool | None:
    """The outcome of difference `relation` 0 if it is the same at all sizes, else None."""
    negative, zero, positive = sign(difference)
    possible = [value for value, is_possible in ((-1, negative), (0, zero), (1, positive))
                if is_possible]  # fmt: skip
    outcomes = {compared(relation, value) for value in possible}
    return outcomes.pop() if len(outcomes) == 1 else None


def decide(difference: Size, relation: str) -> bool:
    """The outcome of difference `relation` 0. Raises Undecided within `strict()`."""
    found = known(difference, relation)
    if found is not None:
        return found
    guards = _active.get()
    if guards is _STRICT:
        raise Undecided(f"{difference} {relation} 0 is true at some sizes and false at others.")
    if relation in ("==", "!="):
        return relation == "!="
    return settle(difference, relation)


def settle(difference: Size, relation: str) -> bool:
    """The outcome of difference `relation` 0, also of equalities, that selects a part of a model:
    that at the maximum sizes, recorded if it is not proven. Raises Undecided within `strict()`."""
    found = known(difference, relation)
    if found is not None:
        return found
    guards = _active.get()
    if guards is _STRICT:
        raise Undecided(f"{difference} {relation} 0 is true at some sizes and false at others.")
    outcome = compared(relation, at_maximum(difference))
    guards.assume(difference, relation, outcome)
    return outcome


def fix(size: Size, what: str) -> int:
    """The value at the maximum sizes, for code that requires an integer known at import. Records
    an equality guard. Raises Undecided within `strict()`."""
    guards = _active.get()
    if guards is _STRICT:
        raise Undecided(f"{what} of {size} is not supported.")
    value = at_maximum(size)
    guards.assume(size - value, "==", True)
    return value
