"""The traits of operators: what passes and importers may assume about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from spec_model.expr.types import Expr, Kind


class Trait(StrEnum):
    """A property of an operator, independent of its kernels and templates."""

    ELEMENTWISE = "elementwise"
    MOVES_DATA = "moves_data"
    LEADING_PARTS = "leading_parts"
    SELECTS = "selects"
    EXACT = "exact"
    RETURNS_INDICES = "returns_indices"
    REDUCES = "reduces"
    ACCUMULATES = "accumulates"
    KEEPS_RANGE = "keeps_range"
    BOUNDED = "bounded"
    MAY_OVERFLOW = "may_overflow"
    INVERTS = "inverts"
    COMPRESSES = "compresses"
    PERIODIC = "periodic"
    CASTS = "casts"
    QUANTIZES = "quantizes"

    @property
    def meaning(self) -> str:
        """One line for documentation and error messages."""
        return _MEANINGS[self]

    @property
    def implied(self) -> frozenset[Trait]:
        """The traits that every operator with this one has too."""
        return _IMPLIED.get(self, frozenset())


_MEANINGS = {
    Trait.ELEMENTWISE: "an output element depends only on the input elements at its index, after "
    "broadcasting; the output has the broadcast shape of the tensors",
    Trait.MOVES_DATA: "the output is a strided copy of the first argument: the element at p of "
    "`split` is the element at begin + sum(p[d] * source_strides[d]), by the `let` names `split`, "
    "`source_strides` and `begin`",
    Trait.LEADING_PARTS: "leading parts of the tensors (the first elements of each dimension), and "
    "smaller sizes in lists of ints, give a leading part of the output; an index counts from the "
    "begin",
    Trait.SELECTS: "every output element is an element of an input of the operator's dtype",
    Trait.EXACT: "no rounding: every output element is an input element up to the sign, zero or a "
    "number argument",
    Trait.RETURNS_INDICES: "outputs of dtype i32 are indices of elements of the first tensor",
    Trait.REDUCES: "reduces dimensions, usually to few elements",
    Trait.ACCUMULATES: "adds up products of two inputs in f32: GEMM and convolution",
    Trait.KEEPS_RANGE: "the output has about the range and precision of the inputs",
    Trait.BOUNDED: "the output fits f16 for all finite inputs",
    Trait.MAY_OVERFLOW: "the output may exceed the range of f16 for inputs that fit it",
    Trait.INVERTS: "divides by the input: the output is large where the input is small",
    Trait.COMPRESSES: "the output fits f16 for all f32 inputs, but small differences in it matter",
    Trait.PERIODIC: "only the remainder of the input by a period matters, so it needs exact inputs",
    Trait.CASTS: "converts integers to floats, or the reverse",
    Trait.QUANTIZES: "computes integers, or their scale, from floats",
}
_EXACT = frozenset({Trait.EXACT, Trait.KEEPS_RANGE})
_IMPLIED = {
    Trait.MOVES_DATA: _EXACT | {Trait.SELECTS},
    Trait.SELECTS: _EXACT,
    Trait.EXACT: frozenset({Trait.KEEPS_RANGE}),
}


def in_order(traits: Iterable[Trait]) -> tuple[Trait, ...]:
    """The traits in the order of the table."""
    given = set(traits)
    return tuple(trait for trait in Trait if trait in given)


# The `let` names that describe a strided copy, by their kinds.
MOVEMENT = {"split": Kind.INTS, "source_strides": Kind.INTS, "begin": Kind.INT}


def names_of_traits(traits: Mapping[Trait, Expr | None]) -> frozenset[str]:
    """The names of the spec that the traits use."""
    used = frozenset(MOVEMENT) if Trait.MOVES_DATA in traits else frozenset()
    return used.union(*(condition.names for condition in traits.values() if condition is not None))
