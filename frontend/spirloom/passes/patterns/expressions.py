"""The expressions that patterns of calls consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spirloom.passes.rewrite import Polynomial

FUNCTIONS = ("sqrt", "rsqrt", "square")


class InvalidPattern(ValueError):
    """A pattern that cannot be read. The message has the text and the column."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A tensor or an attribute; with `is_scalar` the value of a constant with one element."""

    name: str
    is_scalar: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant with one element, or an attribute."""

    value: object


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operator. `has_rest`: arguments that are not given may have any value."""

    op: str
    args: tuple[Expression, ...]
    named: Mapping[str, Expression] = field(hash=False)
    has_rest: bool


@dataclass(frozen=True, slots=True)
class Function:
    """One of FUNCTIONS."""

    name: str
    x: Expression


@dataclass(frozen=True, slots=True)
class Once:
    """A value with a single reader, which is no result of the graph."""

    x: Expression


@dataclass(frozen=True, slots=True)
class Group:
    """The sum or the product of terms. A term with True is subtracted, or is a divisor."""

    is_sum: bool
    terms: tuple[tuple[Expression, bool], ...]


@dataclass(frozen=True, slots=True)
class OneVariable:
    """A polynomial of a tensor: exponent → factor."""

    x: Variable
    factors: Polynomial = field(hash=False)


Expression = Variable | Literal | Call | Function | Once | Group | OneVariable
