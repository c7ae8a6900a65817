"""Rewrites of graphs as data: patterns of calls, and what replaces them."""

from spirloom.passes.patterns.expressions import InvalidPattern
from spirloom.passes.patterns.matching import Match
from spirloom.passes.patterns.rewriting import Rewrite, Rewrites

__all__ = ["InvalidPattern", "Match", "Rewrite", "Rewrites"]
