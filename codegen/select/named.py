"""Selection by name: ops, kernels and variants in lists and YAML files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from codegen.select.filters import EVERYTHING, Filter, find, known_names, nearest
from codegen.select.selection import Selection, dispatched
from spec_model.errors import ErrorList, Position, SpecError
from spec_model.fields import Fields, as_dtypes, as_scalar, as_storages
from spec_model.library import Library
from spec_model.op import Op
from spec_model.spec import Variant
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_reader import Mapping, Node, Scalar, SourceFile, read_yaml
from spec_model.yaml_reader import Sequence as NodeList


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a selector, and its filter."""

    name: str
    position: Position
    limit: Filter = EVERYTHING


def read_entries(source: SourceFile) -> list[Entry]:
    """The entries of a YAML file: `ops:` with a list of names, or name → dtypes and storages."""
    node = Fields.of(read_yaml(source), "a selection", ("ops",)).need("ops")
    if isinstance(node, NodeList):
        names = [as_scalar(item, "an op") for item in node.items]
        return [Entry(name.text, name.position) for name in names]
    if isinstance(node, Mapping):
        return [_entry(entry.key, entry.value) for entry in node.entries]
    raise SpecError.at(
        node.position, "'ops' must be a list of ops, or a map from ops to dtypes and storages."
    )


def _entry(name: Scalar, node: Node) -> Entry:
    if isinstance(node, Scalar) and node.is_null:
        return Entry(name.text, name.position)
    fields = Fields.of(node, f"the limits of '{name.text}'", ("dtypes", "storages"))
    dtypes, storages = fields.get("dtypes"), fields.get("storages")
    limit = Filter(
        EVERYTHING.dtypes if dtypes is None else frozenset(as_dtypes(dtypes)),
        EVERYTHING.storages if storages is None else frozenset(as_storages(storages)),
    )
    return Entry(name.text, name.position, limit)


def select_named(
    library: Library, entries: Sequence[Entry], limit: Filter, selection: Selection
) -> None:
    """Adds the ops of the entries, and fused ops of which they are parts. Reports all errors."""
    errors = ErrorList()
    named: set[str] = set()
    for entry in entries:
        with errors:
            named.update(op.name for op in _select(library, entry, limit, selection))
    errors.raise_any()
    for op in library.ops.values():
        if op.fused_from and len(named.intersection(op.fused_from)) >= op.fused_at_least:
            variants = _fused_variants(library, op, selection)
            if variants:  # too few parts may have the same dtype and storage
                selection.add(op, variants)


def _select(library: Library, entry: Entry, limit: Filter, selection: Selection) -> Iterator[Op]:
    found = find(library, entry.name)
    if not found:
        message = f"'{entry.name}' is not an op, kernel or variant of the specs."
        message += nearest(entry.name, known_names(library))
        raise SpecError.at(entry.position, message)
    both = limit & entry.limit
    kept = [(op, [v for v in dispatched(op, given) if both.accepts(v)]) for op, given in found]
    kept = [(op, variants) for op, variants in kept if variants or op.is_view]
    if not kept:
        message = f"'{entry.name}' has no variant with {both}; available: "
        raise SpecError.at(entry.position, message + _span(v for _, vs in found for v in vs) + ".")
    for op, variants in kept:
        selection.add(op, variants)
        yield op


def _span(variants: Iterable[Variant]) -> str:
    """The dtypes and storages of the variants, in the format of a filter."""
    values = {value for variant in variants for value in variant.values.values()}
    dtypes = frozenset(value for value in values if isinstance(value, DType))
    return str(Filter(dtypes, frozenset(value for value in values if isinstance(value, Storage))))


def _fused_variants(library: Library, op: Op, selection: Selection) -> list[Variant]:
    """The variants of a fused op of whose parts enough have a variant of its dtype and storage."""
    kept = {(v.op, v.dtype, v.storage) for v in selection.kept(library)}
    return [
        v
        for v in dispatched(op, op.variants)
        if sum((part, v.dtype, v.storage) in kept for part in op.fused_from) >= op.fused_at_least
    ]
