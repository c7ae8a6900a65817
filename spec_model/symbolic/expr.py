"""Size expressions in canonical form: sums of products of symbols and of parts that no polynomial
expresses (quotients, remainders, minima, maxima).

Two expressions with the same canonical form are equal at all sizes. The reverse does not hold:
`bounds` proves further equalities and inequalities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd, prod

# Limits of effort.
_MAX_TERMS, _MAX_DEGREE, _MAX_TEXT = 256, 16, 10_000
_MAX_STEPS = 64  # of a division of polynomials, and terms of its dividend


class SizeError(Exception):
    """An operation that symbolic integers do not support; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbolic size with inclusive bounds."""

    name: str
    min: int
    max: int

    def __str__(self) -> str:
        return f"{self.name} {self.min}..{self.max}"

    @property
    def text(self) -> str:
        """The symbol as part of an expression."""
        return self.name

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        return sizes[self.name]

    def symbols(self) -> frozenset[Symbol]:
        """The symbol itself."""
        return frozenset((self,))


class _Part:
    """A part of an expression that no polynomial expresses. Compared by its text and symbols."""

    __slots__ = ("_hash", "_key", "operands", "text")

    def __init__(self, text: str, operands: tuple[Size, ...]) -> None:
        if len(text) > _MAX_TEXT:
            raise SizeError("an expression of sizes is too long")
        self.text = text
        self.operands = operands
        self._key = (type(self), operands)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Part) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def symbols(self) -> frozenset[Symbol]:
        """The symbols of the operands."""
        return frozenset().union(*(operand.symbols for operand in self.operands))


class Quotient(_Part):
    """The quotient of two expressions, rounded down. The divisor is at least 1."""

    __slots__ = ()

    def __init__(self, dividend: Size, divisor: Size) -> None:
        super().__init__(f"{_factor(dividend)}//{_factor(divisor)}", (dividend, divisor))

    @property
    def divisor(self) -> int | None:
        """The divisor if it is constant."""
        return self.operands[1].constant

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        a, b = (operand.value(sizes) for operand in self.operands)
        return a // b


class Remainder(_Part):
    """The remainder of the division of two expressions. The divisor is at least 1."""

    __slots__ = ()

    def __init__(self, dividend: Size, divisor: Size) -> None:
        super().__init__(f"{_factor(dividend)}%{_factor(divisor)}", (dividend, divisor))

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        a, b = (operand.value(sizes) for operand in self.operands)
        return a % b


class Minimum(_Part):
    """The minimum of at least two expressions."""

    __slots__ = ()

    def __init__(self, operands: tuple[Size, ...]) -> None:
        super().__init__(f"min({', '.join(map(str, operands))})", operands)

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        return min(operand.value(sizes) for operand in self.operands)


class Maximum(_Part):
    """The maximum of at least two expressions."""

    __slots__ = ()

    def __init__(self, operands: tuple[Size, ...]) -> None:
        super().__init__(f"max({', '.join(map(str, operands))})", operands)

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        return max(operand.value(sizes) for operand in self.operands)


Atom = Symbol | Quotient | Remainder | Minimum | Maximum
Product = tuple[Atom, ...]  # sorted by text; an atom may repeat


class Size:
    """A sum of terms: integer factors times products of atoms. Immutable."""

    def __init__(self, terms: Mapping[Product, int]) -> None:
        products = sorted(terms, key=_order) if len(terms) > 1 else terms
        self._terms = {p: terms[p] for p in products if terms[p]}
        self._hash = hash(frozenset(self._terms.items()))

    @staticmethod
    @lru_cache(maxsize=1 << 12)
    def of(value: int | Atom) -> Size:
        """A constant or an atom."""
        return Size({(): value}) if isinstance(value, int) else Size({(value,): 1})

    @property
    def terms(self) -> Mapping[Product, int]:
        """The factor of each product, in order of degree."""
        return self._terms

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols that the expression contains."""
        return frozenset().union(*(atom.symbols() for product in self._terms for atom in product))

    @cached_property
    def text(self) -> str:
        """For people, in Python's syntax."""
        text = ""
        for product, factor in self._terms.items():
            names = [_operand(atom) for atom in product]
            size = abs(factor)
            term = "*".join(names if size == 1 and names else [str(size), *names])
            sign = "-" if factor < 0 else "+"
            text += (f" {sign} " if text else "-" * (factor < 0)) + term
        return text or "0"

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        return sum(
            factor * prod(atom.value(sizes) for atom in product)
            for product, factor in self._terms.items()
        )

    @property
    def constant(self) -> int | None:
        """The value of an expression without symbols."""
        if not self._terms:
            return 0
        return self._terms.get(()) if len(self._terms) == 1 else None

    @property
    def offset(self) -> int:
        """The constant term."""
        return self._terms.get((), 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self._terms == other._terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Size({self.text})"

    def __add__(self, other: Size | int) -> Size:
        return self._sum(_size(other), 1)

    def __neg__(self) -> Size:
        return Size({product: -factor for product, factor in self._terms.items()})

    def __sub__(self, other: Size | int) -> Size:
        return self._sum(_size(other), -1)

    def _sum(self, other: Size, times: int) -> Size:
        result = dict(self._terms)
        for product, factor in other.terms.items():
            result[product] = result.get(product, 0) + factor * times
        return Size(result)

    def __mul__(self, other: Size | int) -> Size:
        """The product. Raises SizeError for more than 256 terms or 16 factors."""
        result: dict[Product, int] = {}
        for a, x in self._terms.items():
            for b, y in _size(other).terms.items():
                product = tuple(sorted(a + b, key=_text))
                result[product] = result.get(product, 0) + x * y
                if len(product) > _MAX_DEGREE or len(result) > _MAX_TERMS:
                    raise SizeError("a product of sizes has too many terms")
        return Size(result)


def _size(value: Size | int) -> Size:
    return Size.of(value) if isinstance(value, int) else value


def _text(atom: Atom) -> str:
    return atom.text


def _order(product: Product) -> tuple[int, int, list[str]]:
    """Products of symbols first, the constant last."""
    return not product, -len(product), [atom.text for atom in product]


def _operand(atom: Atom) -> str:
    return f"({atom.text})" if isinstance(atom, Quotient | Remainder) else atom.text


def _factor(size: Size) -> str:
    """An operand of `//` or `%`."""
    simple = len(size.terms) == 1 and sum(map(len, size.terms)) <= 1
    (factor,) = size.terms.values() if simple else (0,)
    return str(size) if simple and (factor == 1 or size.constant is not None) else f"({size})"


def quotient(a: Size, b: Size) -> Size:
    """a // b, for b that is at least 1 at all sizes, or a negative constant."""
    if b.constant is not None and b.constant < 0:
        a, b = -a, -b
    divided = _divided(a, b)
    whole, rest = _split(a, b) if divided is None else (divided, Size.of(0))
    if rest.constant == 0 or (rest.constant is not None and b.constant is not None):
        return whole  # a constant rest is less than a constant b
    if b.constant is not None:
        rest, b = _nested(rest, b.constant)
    common = _common(rest, b)
    if common:
        return whole + quotient(_shorter(rest, common), _shorter(b, common))
    scale = gcd(*rest.terms.values(), *b.terms.values())
    return whole + Size.of(Quotient(_reduced(rest, scale), _reduced(b, scale)))


def remainder(a: Size, b: Size) -> Size:
    """a % b, for b that is at least 1 at all sizes, or a negative constant."""
    if b.constant is not None and b.constant < 0:
        return -remainder(-a, -b)
    if _divided(a, b) is not None:
        return Size.of(0)
    _, rest = _split(a, b)
    if b.constant is not None and rest.constant is not None:
        return rest
    scale = gcd(*rest.terms.values(), *b.terms.values())
    return Size.of(Remainder(_reduced(rest, scale), _reduced(b, scale))) * scale


def _common(a: Size, b: Size) -> Product:
    """An atom that all terms of both contain, or nothing. It is not zero, because b is not."""
    products = [*a.terms, *b.terms]
    return next(((atom,) for atom in products[0] if all(atom in p for p in products)), ())


def _shorter(size: Size, common: Product) -> Size:
    terms = ((_without(product, common), factor) for product, factor in size.terms.items())
    return Size({product: factor for product, factor in terms if product is not None})


def _reduced(size: Size, scale: int) -> Size:
    return Size({product: factor // scale for product, factor in size.terms.items()})


def _nested(a: Size, b: int) -> tuple[Size, Size]:
    """Operands with the quotient of a // b: (x // c + k) // b is (x + c k) // (b c)."""
    atoms = [product for product in a.terms if product]
    if len(atoms) == 1 and len(atoms[0]) == 1 and a.terms[atoms[0]] == 1:
        (inner,) = atoms[0]
        if isinstance(inner, Quotient) and (c := inner.operands[1].constant) is not None:
            return inner.operands[0] + c * a.offset, Size.of(b * c)
    return a, Size.of(b)


def _split(a: Size, b: Size) -> tuple[Size, Size]:
    """(q, r) with a = q b + r, where r has no term that is a multiple of b. b has one term, else q
    is 0."""
    if len(b.terms) != 1:
        return Size.of(0), a
    ((divisor, by),) = b.terms.items()
    whole: dict[Product, int] = {}
    rest: dict[Product, int] = {}
    for product, factor in a.terms.items():
        left = _without(product, divisor)
        if left is None:
            rest[product] = factor
        else:
            whole[left] = factor // by
            rest[product] = factor % by
    return Size(whole), Size(rest)


def _without(product: Product, divisor: Product) -> Product | None:
    """The product divided by another one. None if it is not a multiple."""
    left = list(product)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _divided(a: Size, b: Size) -> Size | None:
    """The exact quotient of polynomials, where b is not 0. None if there is a remainder."""
    if len(a.terms) > _MAX_STEPS:
        return None
    leading, by = next(iter(b.terms.items()))
    found, rest = Size.of(0), a
    for _ in range(_MAX_STEPS):
        if not rest.terms:
            return found
        product, factor = next(iter(rest.terms.items()))
        left = _without(product, leading)
        if left is None or factor % by:
            return None
        step = Size({left: factor // by})
        found, rest = found + step, rest - step * b
    return None


def division(a: Size, b: Size) -> tuple[Size, Size]:
    """(q, r) with a = q b + r, where no term of r is a multiple of the leading term of b."""
    leading, by = next(iter(b.terms.items()))
    whole, rest = Size.of(0), a
    for _ in range(_MAX_STEPS):
        step = next(_steps(rest, leading, by), None)
        if step is None:
            break
        whole, rest = whole + step, rest - step * b
    return whole, rest


def _steps(rest: Size, leading: Product, by: int) -> Iterator[Size]:
    for product, factor in rest.terms.items():
        left = _without(product, leading)
        if left is not None and abs(factor) >= abs(by):
            times = abs(factor) // abs(by)
            yield Size({left: times if (factor < 0) == (by < 0) else -times})


def extremes(operands: Iterable[Size], largest: bool) -> list[Size]:
    """The operands of a minimum or maximum, with those of nested ones, without repetitions."""
    kind = Maximum if largest else Minimum
    found: dict[Size, None] = {}
    for operand in operands:
        product = next(iter(operand.terms), ())
        nested = len(operand.terms) == 1 and len(product) == 1 and isinstance(product[0], kind)
        parts = product[0].operands if nested and isinstance(product[0], kind) else (operand,)
        if nested and operand.terms[product] != 1:
            parts = (operand,)
        found.update(dict.fromkeys(parts))
    return list(found)


def extreme(operands: list[Size], largest: bool) -> Size:
    """The minimum or maximum of operands of which none is known to be the result."""
    if len(operands) == 1:
        return operands[0]
    offset = min(operand.offset for operand in operands)
    parts = tuple(sorted((operand - offset for operand in operands), key=str))
    part: Minimum | Maximum = Maximum(parts) if largest else Minimum(parts)
    return Size.of(part) + offset


@lru_cache(maxsize=4096)
def at_maximum(size: Size) -> int:
    """The value at the maxima of all symbols."""
    return size.value({symbol.name: symbol.max for symbol in size.symbols})
