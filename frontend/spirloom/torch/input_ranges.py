"""The types and value bounds of a torch program's inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec_model import interval
from spec_model.interval import EVERYTHING, Interval
from spirloom.torch.program import Kind, Program, Ref, SizeExpr
from spirloom.value_bounds import ValueRange, narrow_type

# Operators with an index: the arguments of table and index, and the indexed dimension.
_INDEX_OPERANDS = {"aten.embedding": ("weight", "indices", 0)}
# Operators whose result has exactly the values of the first argument.
_VALUE_PRESERVING = frozenset({
    "aten.view", "aten.reshape", "aten.clone", "aten.unsqueeze", "aten.squeeze", "aten.expand",
    "aten.contiguous", "aten._to_copy", "aten.to.dtype", "aten.transpose.int", "aten.permute",
    "aten.alias", "aten.detach", "aten.flatten.using_ints", "aten._unsafe_view",
})  # fmt: skip


def index_ranges(program: Program) -> dict[str, Interval]:
    """The bounds of the inputs that index embedding tables."""
    same = {given.name: given.name for given in program.inputs if given.kind is Kind.USER}
    found: dict[str, Interval] = {}
    for call in program.calls:
        args = {arg.name: arg.value for arg in call.arguments}
        first = call.arguments[0].value if call.arguments else None
        if call.target in _VALUE_PRESERVING and isinstance(first, Ref) and first.name in same:
            same.update((r, same[first.name]) for r in call.results if isinstance(r, str))
        table, index, dim = _INDEX_OPERANDS.get(call.target, ("", "", 0))
        of, by = args.get(table), args.get(index)
        if not isinstance(of, Ref) or not isinstance(by, Ref) or by.name not in same:
            continue
        meta = program.metas.get(of.name)
        if meta is None or not meta.shape or isinstance(meta.shape[dim], SizeExpr):
            continue
        size = meta.shape[dim]
        assert isinstance(size, int)
        own = Interval(-size, max(size - 1, 0))
        before = found.get(same[by.name], own)
        found[same[by.name]] = Interval(max(own.low, before.low), min(own.high, before.high))
    return found


def input_facts(dtype: np.dtype[Any], stated: Interval | None) -> ValueRange:
    """The type and value range of an input; by default the range of its device type."""
    ours = interval.of_type(narrow_type(dtype).numpy) if dtype.kind in "biu" else EVERYTHING
    return ValueRange(dtype, ours if stated is None else stated)
