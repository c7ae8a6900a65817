"""A selection for people: one line about it, and a YAML file that selects the same."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.loader import Library
from codegen.op import Op
from codegen.select.filters import Filter, words_of
from codegen.select.selection import Selection
from codegen.spec import Variant
from codegen.vocabulary import DType, Storage


def summary(library: Library, selection: Selection) -> str:
    """How much of the library is kept."""
    kept, ops = selection.kept(library), selection.variants
    return (
        f"{len(ops)} of {len(library.ops)} operators, "
        f"{len(kept)} of {len(library.variants)} variants"
    )


def yaml_text(library: Library, selection: Selection) -> str:
    """The selection as a file for OPS_YAML: kernels with their limits, or single variants."""
    kept = selection.kept(library)
    lines = [f"# {summary(library, selection)}", "ops:"]
    for name in sorted(selection.variants):
        op = library.ops[name]
        lines += _op_lines(op, [v for v in kept if v.op == name])
    return "\n".join(lines) + "\n"


def _op_lines(op: Op, kept: list[Variant]) -> Iterator[str]:
    if not kept:
        yield f"  {op.name}: {{storages: [{Storage.BUFFER}]}}"
    for kernel in op.kernels:
        own = [v for v in kept if v.kernel.name == kernel.name]
        limit = _limit(own)
        if not own:
            continue
        if [v for v in op.variants_of(kernel) if limit.accepts(v)] == own:
            dtypes, storages = (words_of(DType, limit.dtypes), words_of(Storage, limit.storages))
            yield f"  {kernel.name}: {{dtypes: [{dtypes}], storages: [{storages}]}}"
        else:
            yield from (f"  {variant.id}:" for variant in own)


def _limit(variants: list[Variant]) -> Filter:
    """The narrowest filter that accepts them all."""
    values = {value for variant in variants for value in variant.values.values()}
    dtypes = frozenset(value for value in values if isinstance(value, DType))
    return Filter(dtypes, frozenset(value for value in values if isinstance(value, Storage)))
