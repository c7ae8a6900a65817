"""Normal forms of the arithmetic in patterns."""

from __future__ import annotations

from collections.abc import Sequence

from spirloom.passes.patterns.expressions import (
    Expression,
    Function,
    Group,
    Literal,
    OneVariable,
    Variable,
)
from spirloom.passes.rewrite import Polynomial, multiplied

INVERSE = {"sqrt": "rsqrt", "rsqrt": "sqrt"}


def simplified(group: Group) -> Expression:
    """The group with nested groups and numbers joined. Of one tensor and numbers: a polynomial."""
    found = _polynomial(group)
    if found is not None:
        x, factors = found
        return Literal(factors.get(0, 0.0)) if x is None else OneVariable(x, factors)
    terms: list[tuple[Expression, bool]] = []
    number = neutral = 0.0 if group.is_sum else 1.0
    for term, inverted in group.terms:
        for each, also in _parts(group.is_sum, term):
            turned = inverted != also
            if isinstance(each, Literal) and isinstance(each.value, int | float):
                number = _joined(group.is_sum, number, each.value, turned)
            elif (
                isinstance(each, Function) and each.name in INVERSE and turned and not group.is_sum
            ):
                terms.append((Function(INVERSE[each.name], each.x), False))
            else:
                terms.append((each, turned))
    if number != neutral:
        terms.append((Literal(number), False))
    return terms[0][0] if len(terms) == 1 and not terms[0][1] else Group(group.is_sum, tuple(terms))


def _parts(is_sum: bool, term: Expression) -> tuple[tuple[Expression, bool], ...]:
    """The terms of a nested group of the same kind, or the number and the rest of a polynomial."""
    if isinstance(term, Group) and term.is_sum == is_sum:
        return term.terms
    if isinstance(term, OneVariable):
        if is_sum and 0 in term.factors:
            rest = {e: f for e, f in term.factors.items() if e != 0}
            return (_of_powers(term.x, rest), False), (Literal(term.factors[0]), False)
        if not is_sum and len(term.factors) == 1:
            ((exponent, factor),) = term.factors.items()
            return (_of_powers(term.x, {exponent: 1.0}), False), (Literal(factor), False)
    return ((term, False),)


def _of_powers(x: Variable, factors: Polynomial) -> Expression:
    return x if factors == {1: 1.0} else OneVariable(x, factors)


def _joined(is_sum: bool, number: float, value: float, inverted: bool) -> float:
    if is_sum:
        return number - value if inverted else number + value
    return number / value if inverted else number * value


def _polynomial(expression: Expression) -> tuple[Variable | None, Polynomial] | None:
    """The one tensor of an arithmetic expression and the factors of its powers. None for other
    expressions.
    """
    match expression:
        case Literal(value=bool()):
            return None
        case Literal(value=int() | float() as value):
            return None, {0: float(value)}
        case Variable(is_scalar=False):
            return expression, {1: 1.0}
        case OneVariable(x=x, factors=factors):
            return x, factors
        case Group(is_sum=is_sum, terms=terms):
            return _joined_polynomials(
                is_sum, [(_polynomial(t), inverted) for t, inverted in terms]
            )
    return None


_Known = tuple[Variable | None, Polynomial]


def _joined_polynomials(is_sum: bool, parts: Sequence[tuple[_Known | None, bool]]) -> _Known | None:
    """The sum or product of polynomials. None if they are of two tensors, or divide by one."""
    total: Polynomial = {} if is_sum else {0: 1.0}
    names: list[Variable] = []
    for part, inverted in parts:
        if part is None:
            return None
        x, factors = part
        names += [x] if x is not None and x not in names else []
        if is_sum:
            sign = -1 if inverted else 1
            total = {e: total.get(e, 0.0) + sign * factors.get(e, 0.0) for e in {*total, *factors}}
        elif inverted and set(factors) != {0}:
            return None
        else:
            total = multiplied(total, {0: 1 / factors[0]} if inverted else factors)
    return None if len(names) > 1 else (names[0] if names else None, total)
