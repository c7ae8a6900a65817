"""Einstein sums as views, permutations, products and sums: operands are joined pair by pair."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from spirloom.builder import Builder
from spirloom.equation import Equation, Labels
from spirloom.ir import DType, Tensor


@dataclass(frozen=True, slots=True)
class _Term:
    """A tensor whose dimensions have labels, each at most once."""

    tensor: Tensor
    labels: Labels

    def size(self, label: str) -> int:
        return self.tensor.shape[self.labels.index(label)]

    def sizes(self, labels: Labels) -> tuple[int, ...]:
        return tuple(self.size(label) for label in labels)


def einsum(build: Builder, equation: Equation, operands: Sequence[Tensor]) -> Tensor:
    """The sum over all labels that the output lacks of the products of the operands."""
    sizes = equation.sizes([x.shape for x in operands])
    terms = [
        _diagonal(build, x, labels) for x, labels in zip(operands, equation.operands, strict=True)
    ]
    terms = [_without_repeated(build, term, sizes) for term in terms]
    result = _summed(build, terms[0], _wanted(equation, terms[1:]))
    for i, term in enumerate(terms[1:], start=1):
        wanted = _wanted(equation, terms[i + 1 :])
        right = _summed(build, term, {*result.labels, *wanted})
        left = _summed(build, result, {*right.labels, *wanted})
        result = _joined(build, left, right, wanted)
    return _ordered(build, result, equation.output)


def _wanted(equation: Equation, later: Sequence[_Term]) -> set[str]:
    """The labels that the output or later operands have."""
    return set(equation.output).union(*(term.labels for term in later))


def _diagonal(build: Builder, x: Tensor, labels: Labels) -> _Term:
    """An operand in which each label occurs once: of a repeated one, the diagonal stays."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [d for d in range(len(labels)) if d not in (first, second)]
            x = build.permute(x, [*rest, first, second])
            *outer, n, _ = x.shape
            flat = build.view(x, [*outer, n * n])
            x = build.slice(flat, len(outer), 0, n * n, n + 1)
            labels = (*(labels[d] for d in rest), label)
    return _Term(x, labels)


def _without_repeated(build: Builder, term: _Term, sizes: dict[str, int]) -> _Term:
    """The term without dimensions of size 1 that broadcast against a larger size."""
    labels = tuple(label for label in term.labels if term.size(label) == sizes[label])
    return _Term(build.view(term.tensor, term.sizes(labels)), labels)


def _summed(build: Builder, term: _Term, wanted: Collection[str]) -> _Term:
    """The term summed over the labels that nobody wants."""
    dims = [d for d, label in enumerate(term.labels) if label not in wanted]
    if not dims:
        return term
    labels = tuple(label for label in term.labels if label in wanted)
    return _Term(build.reduce("aten.sum.dim_IntList", term.tensor, dims, keepdim=False), labels)


def _ordered(build: Builder, term: _Term, labels: Labels) -> Tensor:
    """The term's tensor with its dimensions in the order of these labels."""
    return build.permute(term.tensor, [term.labels.index(label) for label in labels])


def _joined(build: Builder, a: _Term, b: _Term, wanted: Collection[str]) -> _Term:
    """The product of two terms, summed over the labels that nobody wants; both terms have these."""
    shared = tuple(label for label in a.labels if label in b.labels)
    batch = tuple(label for label in shared if label in wanted)
    summed = tuple(label for label in shared if label not in wanted)
    rows = tuple(label for label in a.labels if label not in shared)
    columns = tuple(label for label in b.labels if label not in shared)
    if summed and a.tensor.dtype in (DType.F32, DType.F16):
        y = _matrix_product(build, a, b, (batch, rows, summed, columns))
        return _Term(y, (*batch, *rows, *columns))
    return _summed(build, _product(build, a, b, (*batch, *rows, *columns, *summed)), wanted)


def _product(build: Builder, a: _Term, b: _Term, labels: Labels) -> _Term:
    """The elementwise product, with dimensions that one term lacks of size 1 there."""
    spread = []
    for term in (a, b):
        own = tuple(label for label in labels if label in term.labels)
        shape = [term.size(label) if label in own else 1 for label in labels]
        spread.append(build.view(_ordered(build, term, own), shape))
    return _Term(build.mul(*spread), labels)


def _matrix_product(
    build: Builder, a: _Term, b: _Term, groups: tuple[Labels, Labels, Labels, Labels]
) -> Tensor:
    """The product of lists of matrices; labels of one group become one dimension on the way."""
    batch, rows, summed, columns = groups
    batches, depth = a.sizes(batch), a.sizes(summed)
    shape = (*batches, *a.sizes(rows), *b.sizes(columns))
    if not batch and a.tensor.data is not None and b.tensor.data is None:
        turned = _matrix_product(build, b, a, (batch, columns, summed, rows))
        order = [*range(len(columns), len(shape)), *range(len(columns))]
        return build.permute(turned, order)
    left = _ordered(build, a, (*batch, *rows, *summed))
    if not batch and b.tensor.data is not None:
        weight = build.view(
            _ordered(build, b, (*columns, *summed)), [prod(b.sizes(columns)), prod(depth)]
        )
        x = build.view(left, [*a.sizes(rows), prod(depth)])
        return build.view(build.emit("aten.linear", x=x, weight=weight), shape)
    right = _ordered(build, b, (*batch, *summed, *columns))
    matrices = {
        "a": build.view(left, [prod(batches), prod(a.sizes(rows)), prod(depth)]),
        "b": build.view(right, [prod(batches), prod(depth), prod(b.sizes(columns))]),
    }
    return build.view(build.emit("aten.bmm", **matrices), shape)
