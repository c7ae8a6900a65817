"""Einsum equations, and their decomposition into views, permutations, matmuls and reductions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from spirloom.builder import Builder
from spirloom.ir import DType, Tensor
from spirloom.op_library import OpError

# A label is a letter, or "...N" for a dimension of an ellipsis, where N counts from its right end.
Labels = tuple[str, ...]

_TERM = re.compile(r"[A-Za-z]*(\.\.\.[A-Za-z]*)?")


@dataclass(frozen=True, slots=True)
class Equation:
    """One label for every dimension."""

    operands: tuple[Labels, ...]
    output: Labels

    @classmethod
    def parse(cls, text: str, ranks: Sequence[int]) -> Equation:
        """Parses the equation for operands of these ranks. Raises OpError if it does not fit
        them.
        """
        inputs, arrow, output = "".join(text.split()).partition("->")
        words = inputs.split(",")
        if not all(_TERM.fullmatch(word) for word in (*words, output)):
            raise OpError(f"its equation '{text}' is malformed")
        if len(words) != len(ranks):
            raise OpError(f"its equation '{text}' is for {len(words)} operands, not {len(ranks)}")
        operands = tuple(_labels(word, rank, text) for word, rank in zip(words, ranks, strict=True))
        hidden = max((_ellipsis_rank(labels) for labels in operands), default=0)
        if not arrow:
            return cls(operands, (*_ellipsis(hidden), *_once(inputs)))
        explicit = output.replace("...", "")
        rank = len(explicit) + (hidden if "..." in output else 0)
        result = _labels(output, rank, text)
        unknown = sorted({label for label in result if not any(label in o for o in operands)})
        if unknown or len(set(result)) != len(result):
            raise OpError(f"its equation '{text}' has no such output")
        return cls(operands, result)

    def sizes(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """The size of each label after broadcasting. Raises OpError if two sizes conflict."""
        found: dict[str, int] = {}
        for labels, shape in zip(self.operands, shapes, strict=True):
            for label, size in zip(labels, shape, strict=True):
                known = found.get(label, 1)
                if size != known and 1 not in (size, known):
                    raise OpError(f"its dimension '{label}' is both {known} and {size}")
                found[label] = size if known == 1 else known
        return found


def _labels(word: str, rank: int, equation: str) -> Labels:
    """The labels of a word such as `a...b`."""
    before, dots, after = word.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise OpError(f"'{word}' of its equation '{equation}' does not fit rank {rank}")
    return (*before, *_ellipsis(hidden), *after)


def _ellipsis(rank: int) -> Labels:
    return tuple(f"...{d}" for d in reversed(range(rank)))


def _ellipsis_rank(labels: Labels) -> int:
    return sum(label.startswith("...") for label in labels)


def _once(inputs: str) -> list[str]:
    """The letters that occur once, in order: the implicit output."""
    return sorted(letter for letter in set(inputs) - set(".,") if inputs.count(letter) == 1)


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
    """Multiplies the operands and sums over all labels that the output lacks."""
    sizes = equation.sizes([x.shape for x in operands])
    terms = [
        _diagonal(build, x, labels) for x, labels in zip(operands, equation.operands, strict=True)
    ]
    terms = [_without_repeated(build, term, sizes) for term in terms]
    result = _summed(build, terms[0], _needed(equation, terms[1:]))
    for i, term in enumerate(terms[1:], start=1):
        needed = _needed(equation, terms[i + 1 :])
        right = _summed(build, term, {*result.labels, *needed})
        left = _summed(build, result, {*right.labels, *needed})
        result = _contracted(build, left, right, needed)
    return _ordered(build, result, equation.output)


def _needed(equation: Equation, later: Sequence[_Term]) -> set[str]:
    """The labels of the output and of later operands."""
    return set(equation.output).union(*(term.labels for term in later))


def _diagonal(build: Builder, x: Tensor, labels: Labels) -> _Term:
    """An operand with each label once: a repeated label selects the diagonal."""
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
    """The term without dimensions of size 1 that broadcast to a larger size."""
    labels = tuple(label for label in term.labels if term.size(label) == sizes[label])
    return _Term(build.view(term.tensor, term.sizes(labels)), labels)


def _summed(build: Builder, term: _Term, needed: Collection[str]) -> _Term:
    """The term, summed over labels that are not needed later."""
    dims = [d for d, label in enumerate(term.labels) if label not in needed]
    if not dims:
        return term
    labels = tuple(label for label in term.labels if label in needed)
    return _Term(build.reduce("aten.sum.dim_IntList", term.tensor, dims, keepdim=False), labels)


def _ordered(build: Builder, term: _Term, labels: Labels) -> Tensor:
    """The tensor of a term, with its dimensions in the order of these labels."""
    return build.permute(term.tensor, [term.labels.index(label) for label in labels])


def _contracted(build: Builder, a: _Term, b: _Term, needed: Collection[str]) -> _Term:
    """The product of two terms, summed over their common labels that are not needed later."""
    shared = tuple(label for label in a.labels if label in b.labels)
    batch = tuple(label for label in shared if label in needed)
    summed = tuple(label for label in shared if label not in needed)
    rows = tuple(label for label in a.labels if label not in shared)
    columns = tuple(label for label in b.labels if label not in shared)
    if summed and a.tensor.dtype in (DType.F32, DType.F16):
        y = _matmul(build, a, b, (batch, rows, summed, columns))
        return _Term(y, (*batch, *rows, *columns))
    return _summed(build, _product(build, a, b, (*batch, *rows, *columns, *summed)), needed)


def _product(build: Builder, a: _Term, b: _Term, labels: Labels) -> _Term:
    """The elementwise product. Dimensions that one term lacks have size 1 there."""
    operands = []
    for term in (a, b):
        own = tuple(label for label in labels if label in term.labels)
        shape = [term.size(label) if label in own else 1 for label in labels]
        operands.append(build.view(_ordered(build, term, own), shape))
    return _Term(build.mul(*operands), labels)


def _matmul(
    build: Builder, a: _Term, b: _Term, groups: tuple[Labels, Labels, Labels, Labels]
) -> Tensor:
    """A batched matmul. The labels of each group are merged into one dimension."""
    batch, rows, summed, columns = groups
    batches, depth = a.sizes(batch), a.sizes(summed)
    shape = (*batches, *a.sizes(rows), *b.sizes(columns))
    if not batch and a.tensor.data is not None and b.tensor.data is None:
        permuted = _matmul(build, b, a, (batch, columns, summed, rows))
        order = [*range(len(columns), len(shape)), *range(len(columns))]
        return build.permute(permuted, order)
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
