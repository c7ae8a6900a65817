"""Inputs that are used as indices: their numbers lie within what they index."""

from __future__ import annotations

from spirloom.interval import Interval
from spirloom.torch.program import Kind, Program, Ref
from spirloom.torch.size_of import SizeOf

# Which argument is the table, which the index, and along what the index counts.
_INDEXED = {"aten.embedding": ("weight", "indices", 0)}
# What gives the numbers of its first argument, all of them and no others.
_KEEPING = frozenset({"aten.view", "aten.reshape", "aten.clone", "aten.unsqueeze", "aten.squeeze",
                      "aten.expand", "aten.contiguous", "aten._to_copy", "aten.to.dtype",
                      "aten.transpose.int", "aten.permute", "aten.alias", "aten.detach",
                      "aten.flatten.using_ints", "aten._unsafe_view"})  # fmt: skip


def index_ranges(program: Program) -> dict[str, Interval]:
    """The bounds of the inputs that are indices of tables."""
    same = {given.name: given.name for given in program.inputs if given.kind is Kind.USER}
    found: dict[str, Interval] = {}
    for call in program.calls:
        args = {arg.name: arg.value for arg in call.arguments}
        first = call.arguments[0].value if call.arguments else None
        if call.target in _KEEPING and isinstance(first, Ref) and first.name in same:
            same.update((r, same[first.name]) for r in call.results if isinstance(r, str))
        table, index, dim = _INDEXED.get(call.target, ("", "", 0))
        of, by = args.get(table), args.get(index)
        if not isinstance(of, Ref) or not isinstance(by, Ref) or by.name not in same:
            continue
        meta = program.metas.get(of.name)
        if meta is None or not meta.shape or isinstance(meta.shape[dim], SizeOf):
            continue
        size = meta.shape[dim]
        assert isinstance(size, int)
        own = Interval(-size, max(size - 1, 0))
        before = found.get(same[by.name], own)
        found[same[by.name]] = Interval(max(own.low, before.low), min(own.high, before.high))
    return found
