"""Finds the bindings of a pattern's names for a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import isclose

from spirloom.ir import ArgValue, DType, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.patterns.expressions import (
    Call,
    Expression,
    Function,
    Group,
    Literal,
    Once,
    OneVariable,
    Variable,
)
from spirloom.passes.rewrite import (
    ADD,
    DIV,
    MUL,
    NEG,
    POWERS,
    SUB,
    Matcher,
    exponent,
    is_polynomial,
    is_scalar,
    polynomial,
    scalar,
)

_SUMS, _PRODUCTS = (ADD, SUB), (MUL, DIV)
_ARITHMETIC = (*_SUMS, *_PRODUCTS, NEG, *POWERS)
_RECIPROCAL = "aten.reciprocal"
_MAX_NODES = 8  # arithmetic nodes that are searched for the tensor of a polynomial


@dataclass(frozen=True, slots=True)
class Match:
    """The values of a pattern's names, and the nodes that it covers; the last one is its result."""

    values: Mapping[str, ArgValue] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()

    def __getitem__(self, name: str) -> ArgValue:
        return self.values[name]

    def tensor(self, name: str) -> Tensor:
        """The value of a name that is a tensor."""
        value = self.values[name]
        assert isinstance(value, Tensor), name
        return value

    @property
    def result(self) -> Tensor:
        """The result of the pattern."""
        return self.nodes[-1].outputs[0]

    def bound(self, name: str, value: ArgValue) -> Match:
        return Match({**self.values, name: value}, self.nodes)

    def after(self, node: Node) -> Match:
        """The match with one more node."""
        return self if node in self.nodes else Match(self.values, (*self.nodes, node))


def root_ops(pattern: Expression) -> frozenset[str]:
    """The operators that can produce the result of a pattern."""
    match pattern:
        case Call(op=op):
            return frozenset([op])
        case Once(x=x):
            return root_ops(x)
        case Group(is_sum=is_sum):
            return frozenset(_SUMS if is_sum else _PRODUCTS)
        case OneVariable():
            return frozenset(_ARITHMETIC)
        case Function(name="square"):
            return frozenset([MUL, *POWERS])
        case Function():
            return frozenset(["aten.sqrt", "aten.rsqrt", _RECIPROCAL, DIV, *POWERS])
    return frozenset()


class Finder:
    """Matches patterns with the nodes of a graph. Valid while the graph is not changed."""

    def __init__(self, library: OpLibrary, matcher: Matcher) -> None:
        self._library, self._matcher = library, matcher

    def find(self, pattern: Expression, node: Node) -> Iterator[Match]:
        """All matches whose result is the first output of a node."""
        for found in self._value(pattern, node.outputs[0], Match()):
            yield found.after(node)

    def _value(self, pattern: Expression, value: ArgValue, found: Match) -> Iterator[Match]:
        match pattern:
            case Variable():
                yield from self._variable(pattern, value, found)
            case Literal():
                if self._is_literal(pattern.value, value):
                    yield found
            case Call():
                yield from self._call(pattern, value, found)
            case Function():
                yield from self._function(pattern, value, found)
            case Once(x=x):
                if isinstance(value, Tensor) and self._matcher.private(value):
                    yield from self._value(x, value, found)
            case Group():
                yield from self._group(pattern, pattern.terms, (value, False), found)
            case OneVariable():
                yield from self._polynomial(pattern, value, found)

    def _variable(self, pattern: Variable, value: ArgValue, found: Match) -> Iterator[Match]:
        known: ArgValue = scalar(value) if pattern.is_scalar else value
        if pattern.is_scalar and known is None:
            return
        if pattern.name not in found.values:
            yield found.bound(pattern.name, known)
        elif self._matcher.same(found.values[pattern.name], known):
            yield found

    @staticmethod
    def _is_literal(expected: object, value: ArgValue) -> bool:
        if isinstance(value, Tensor):
            return isinstance(expected, int | float) and _is_close(value, expected)
        if isinstance(expected, float) and isinstance(value, int | float):
            return expected == value or isclose(value, expected, rel_tol=1e-6)
        return value == expected

    def _call(self, pattern: Call, value: ArgValue, found: Match) -> Iterator[Match]:
        node = self._matcher.producer(value, pattern.op)
        if node is None or node.outputs[0] is not value:
            return
        names = self._library.arg_names(node.op)
        expected = dict(zip(names, pattern.args, strict=False)) | dict(pattern.named)
        given = dict(zip(names, node.args, strict=True))
        if not pattern.has_rest and any(
            given[arg.name] != arg.default
            for arg in self._library.args(node.op)
            if arg.name not in expected
        ):
            return
        states = [found]
        for name, inner in expected.items():
            states = [each for state in states for each in self._value(inner, given[name], state)]
        for state in states:
            yield state.after(node)

    def _function(self, pattern: Function, value: ArgValue, found: Match) -> Iterator[Match]:
        node = self._matcher.producer(value)
        if node is None:
            return
        if pattern.name == "square":
            x = _squared(self._matcher, node)
        else:
            x = self._rooted(node) if pattern.name == "sqrt" else self._inverse_rooted(node)
        if x is not None:
            for each in self._value(pattern.x, x, found):
                yield each.after(node)

    def _rooted(self, value: object) -> Tensor | None:
        """Returns s of √s."""
        node = value if isinstance(value, Node) else self._matcher.producer(value)
        if node is None or not (
            node.op == "aten.sqrt" or (node.op in POWERS and exponent(node) == 0.5)
        ):
            return None
        return node.args[0] if isinstance(node.args[0], Tensor) else None

    def _inverse_rooted(self, node: Node) -> Tensor | None:
        """Returns s of 1 / √s."""
        x = node.args[0]
        if node.op == _RECIPROCAL:
            return self._rooted(x)
        if node.op == DIV:
            return self._rooted(node.args[1]) if is_scalar(x, 1.0) else None
        inverse = node.op == "aten.rsqrt" or (node.op in POWERS and exponent(node) == -0.5)
        return x if inverse and isinstance(x, Tensor) else None

    def _group(
        self,
        pattern: Group,
        terms: tuple[tuple[Expression, bool], ...],
        given: tuple[ArgValue, bool],
        found: Match,
    ) -> Iterator[Match]:
        """Matches terms with a value, or with a negative or inverse value."""
        value, inverted = given
        if len(terms) == 1:
            yield from self._term(pattern.is_sum, terms[0], given, found)
            return
        node = self._matcher.producer(value, *(_SUMS if pattern.is_sum else _PRODUCTS))
        if node is None or not self._library.is_plain(node):
            return
        a, b = node.args[:2]
        second = (b, inverted != (node.op in (SUB, DIV)))
        indices = range(len(terms))
        for count in range(1, len(terms)):
            for chosen in combinations(indices, count):
                first = tuple(terms[i] for i in chosen)
                rest = tuple(terms[i] for i in indices if i not in chosen)
                for each in self._group(pattern, first, (a, inverted), found):
                    for both in self._group(pattern, rest, second, each):
                        yield both.after(node)

    def _term(
        self,
        is_sum: bool,
        term: tuple[Expression, bool],
        given: tuple[ArgValue, bool],
        found: Match,
    ) -> Iterator[Match]:
        (pattern, negated), (value, inverted) = term, given
        if isinstance(pattern, Literal) and isinstance(pattern.value, int | float):
            number = scalar(value)
            if number is None or (inverted and not is_sum and number == 0):
                return
            turned = number if not inverted else -number if is_sum else 1 / number
            assert isinstance(value, Tensor)
            if isclose(turned, pattern.value, rel_tol=_precision(value.dtype)):
                yield found
        elif isinstance(pattern, Function) and inverted and not negated and not is_sum:
            x = self._rooted(value) if pattern.name == "rsqrt" else None
            node = self._matcher.producer(value)
            if x is not None and node is not None:
                for each in self._value(pattern.x, x, found):
                    yield each.after(node)
        elif negated == inverted:
            yield from self._value(pattern, value, found)

    def _polynomial(self, pattern: OneVariable, value: ArgValue, found: Match) -> Iterator[Match]:
        for x in self._bases(value, _MAX_NODES) if isinstance(value, Tensor) else ():
            for each in self._variable(pattern.x, x, found):
                factors = polynomial(self._library, self._matcher, value, x)
                if is_polynomial(factors, pattern.factors, x.dtype):
                    yield each

    def _bases(self, value: Tensor, limit: int) -> Iterator[Tensor]:
        """The tensors of which an arithmetic expression may be a polynomial."""
        node = self._matcher.producer(value, *_ARITHMETIC)
        if node is not None and limit > 0:
            for arg in node.args[:2]:
                if isinstance(arg, Tensor) and not arg.is_constant:
                    yield from self._bases(arg, limit - 1)
        yield value


def _squared(matcher: Matcher, node: Node) -> Tensor | None:
    """Returns x of x², in any form."""
    x = node.args[0]
    if not isinstance(x, Tensor):
        return None
    squares = (
        matcher.same(node.args[1], x)
        if node.op == MUL
        else node.op in POWERS and exponent(node) == 2.0
    )
    return x if squares else None


def _precision(dtype: DType) -> float:
    return 1e-3 if dtype is DType.F16 else 1e-6


def _is_close(value: Tensor, expected: float) -> bool:
    number = scalar(value)
    return number is not None and isclose(number, expected, rel_tol=_precision(value.dtype))
