"""What kept variants need besides themselves: packing ops, and calls that no graph spells out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen.loader import Library
from codegen.op import Op
from codegen.select.selection import Selection
from codegen.spec import BoundTensor, Variant
from codegen.vocabulary import DType, Storage

# What graphs have at their borders whatever they compute in: the importer casts there.
_BORDER_DTYPE = DType.F32
_BORDER_STORAGE = Storage.BUFFER


def close(library: Library, selection: Selection) -> None:
    """Adds what the kept variants need, until nothing is missing."""
    growing = True
    while growing:
        growing = False
        for variant in selection.kept(library):
            for op, variants in _packing(library, variant):
                growing |= selection.add(op, variants)
        for op, variants in _inserted(library, selection.kept(library)):
            growing |= selection.add(op, variants)


def _packing(library: Library, variant: Variant) -> Iterator[tuple[Op, list[Variant]]]:
    """The ops that pack the variant's operands."""
    for operand, bound in zip(variant.kernel.operands, variant.tensors, strict=True):
        if operand.pack is not None:
            op = library.ops[operand.pack.op]
            own = library.ops[variant.op].args[operand.index].dtype or variant.dtype
            yield op, _packers(op, own, bound)


def _packers(op: Op, own: DType, packed: BoundTensor) -> list[Variant]:
    """Its variants that give the packed tensor, of one of the dtype `own` if it tells these apart;
    another storage will do if none has that one."""
    takes = [v for v in op.variants if v.tensors[0].dtype is own] or list(op.variants)
    results = [(v, v.tensors[-1]) for v in takes]
    fit = [v for v, y in results if (y.dtype, y.storage) == (packed.dtype, packed.storage)]
    return fit or [v for v, y in results if y.dtype is packed.dtype]


def _inserted(library: Library, kept: Iterable[Variant]) -> Iterator[tuple[Op, list[Variant]]]:
    """The layout copies and casts between what the kept variants bind, and the graph's border."""
    bound = [tensor for variant in kept for tensor in variant.tensors]
    dtypes = {tensor.dtype for tensor in bound}
    storages = {tensor.storage for tensor in bound} | {_BORDER_STORAGE}
    for op in library.ops.values():
        variants = [v for v in op.variants if v.inserted and _joins(v, dtypes, storages)]
        if variants:
            yield op, variants


def _joins(variant: Variant, dtypes: set[DType], storages: set[Storage]) -> bool:
    own = {tensor.dtype for tensor in variant.tensors}
    return (
        not own.isdisjoint(dtypes)
        and own <= dtypes | {_BORDER_DTYPE}
        and storages.issuperset(tensor.storage for tensor in variant.tensors)
    )
