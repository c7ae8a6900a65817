"""Symbolic integers: polynomials over symbols with `//`, `%`, min, max, and proofs."""

from spec_model.symbolic.expr import Size, SizeError, Symbol
from spec_model.symbolic.guards import (
    Guard,
    Guards,
    Undecided,
    Unguarded,
    general,
    known,
    note,
    settle,
    strict,
)
from spec_model.symbolic.sym_int import SymInt, at_sizes, maximum, minimum, size_of, sym

__all__ = [
    "Guard",
    "Guards",
    "Size",
    "SizeError",
    "SymInt",
    "Symbol",
    "Undecided",
    "Unguarded",
    "at_sizes",
    "general",
    "known",
    "maximum",
    "minimum",
    "note",
    "settle",
    "size_of",
    "strict",
    "sym",
]
