"""Selections: the kept ops and variants, the file from `select` to `generate`, and the closure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spec_model.errors import Position, SpecError
from spec_model.library import Library
from spec_model.op import Op
from spec_model.spec import BoundTensor, OperandSource, Variant
from spec_model.templates import PACKAGE
from spec_model.vocabulary import DType, Storage

_PACKAGES = (Path(__file__).resolve().parents[1], PACKAGE)
_SOURCES = sorted(path for package in _PACKAGES for path in package.rglob("*.py"))


@dataclass(slots=True)
class Selection:
    """Ops and the ids of their kept variants. Views can be kept without variants."""

    variants: dict[str, set[str]] = field(default_factory=dict)  # op name → ids

    def add(self, op: Op, variants: Iterable[Variant]) -> bool:
        """Adds the op and these variants; returns whether the selection grew."""
        ids = {variant.id for variant in variants}
        grows = op.name not in self.variants or not ids <= self.variants[op.name]
        self.variants.setdefault(op.name, set()).update(ids)
        return grows

    def kept(self, library: Library) -> list[Variant]:
        """The kept variants in order of key."""
        return [v for v in library.variants if v.id in self.variants.get(v.op, ())]


def dispatched(op: Op, variants: Iterable[Variant]) -> list[Variant]:
    """The variants that the runtime can dispatch: views of buffers are aliases."""
    if not op.is_view:
        return list(variants)
    return [v for v in variants if v.storage is not Storage.BUFFER]


def reduced(library: Library, selection: Selection) -> Library:
    """The library with the kept variants only. Kernel indices and variant keys do not change."""
    variants = tuple(selection.kept(library))
    ops = {
        name: dataclasses.replace(op, variants=tuple(v for v in variants if v.op == name))
        for name, op in library.ops.items()
        if name in selection.variants
    }
    return dataclasses.replace(library, ops=ops, variants=variants)


def selection_text(selection: Selection) -> str:
    """The selection as JSON."""
    content = {
        "version": 1,
        "ops": {name: sorted(ids) for name, ids in sorted(selection.variants.items())},
    }
    return json.dumps(content, indent=1) + "\n"


def inputs_of(library: Library, selectors: Iterable[Path]) -> set[Path]:
    """The inputs of a selection by these files; directories stand for new files."""
    read = {source.path for source in (*library.specs, *library.templates.files.values())}
    directories = {path.parent for path in read}
    specs = {path for path in read if path.suffix == ".yaml"}
    return {*selectors, *specs, *directories, *_SOURCES}


def read_selection(path: Path, library: Library) -> Selection:
    """Reads a selection for this library. Fails if the specs do not match it."""
    try:
        ops = json.loads(path.read_bytes())["ops"]
        wanted = {str(name): {str(id) for id in ids} for name, ids in ops.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SpecError.at(Position(str(path)), f"The selection cannot be read: {error}.") from None
    known = {variant.id for variant in library.variants}
    for name, ids in wanted.items():
        missing = sorted(ids - known) if name in library.ops else [name]
        if missing:
            message = f"'{missing[0]}' is selected, but is not in the specs; configure again."
            raise SpecError.at(Position(str(path)), message)
    return Selection(wanted)


# Inputs and outputs of graphs: the importer inserts casts to this dtype.
_IO_DTYPE = DType.F32
_IO_STORAGE = Storage.BUFFER


def close(library: Library, selection: Selection) -> None:
    """Adds the ops that the runtime or importer inserts for kept variants, transitively."""
    growing = True
    while growing:
        growing = False
        for variant in selection.kept(library):
            for op, variants in _packing(library, variant):
                growing |= selection.add(op, variants)
        for op, variants in _inserted(library, selection.kept(library)):
            growing |= selection.add(op, variants)


def _packing(library: Library, variant: Variant) -> Iterator[tuple[Op, list[Variant]]]:
    """The packing ops of the variant's operands."""
    for operand, bound in zip(variant.kernel.operands, variant.tensors, strict=True):
        if operand.pack is not None:
            op = library.ops[operand.pack.op]
            own = library.ops[variant.op].args[operand.index].dtype or variant.dtype
            yield op, _packers(op, own, bound)


def _packers(op: Op, own: DType, packed: BoundTensor) -> list[Variant]:
    """The variants of a packing op that produce the packed tensor, if possible from the dtype
    `own` and in the tensor's storage."""
    readers = [v for v in op.variants if _reads(v, own)] or list(op.variants)
    results = [(v, v.tensors[-1]) for v in readers]
    fit = [v for v, y in results if (y.dtype, y.storage) == (packed.dtype, packed.storage)]
    return fit or [v for v, y in results if y.dtype is packed.dtype]


def _reads(variant: Variant, dtype: DType) -> bool:
    """Whether the first argument has the dtype: the axis `dtype` if the kernel does not bind it."""
    bound = variant.kernel.operands[0].source is OperandSource.ARG
    return (variant.tensors[0].dtype if bound else variant.dtype) is dtype


def _inserted(library: Library, kept: Iterable[Variant]) -> Iterator[tuple[Op, list[Variant]]]:
    """The copies and casts between tensors of kept variants, inputs and outputs."""
    bound = [tensor for variant in kept for tensor in variant.tensors]
    dtypes = {tensor.dtype for tensor in bound}
    storages = {tensor.storage for tensor in bound} | {_IO_STORAGE}
    for op in library.ops.values():
        variants = [v for v in op.variants if v.auto_inserted and _joins(v, dtypes, storages)]
        if variants:
            yield op, variants


def _joins(variant: Variant, dtypes: set[DType], storages: set[Storage]) -> bool:
    own = {tensor.dtype for tensor in variant.tensors}
    return (
        not own.isdisjoint(dtypes)
        and own <= dtypes | {_IO_DTYPE}
        and storages.issuperset(tensor.storage for tensor in variant.tensors)
    )
