"""What lists and YAML files select: ops, kernels and variants by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from codegen.errors import ErrorList, Position, SpecError
from codegen.fields import Fields, as_scalar, as_words
from codegen.loader import Library
from codegen.op import Op
from codegen.select.filters import EVERYTHING, Filter
from codegen.select.names import find, known_names, nearest
from codegen.select.selection import Selection, dispatched
from codegen.spec import Variant
from codegen.storages import as_storages
from codegen.vocabulary import DType, Storage
from codegen.yaml_reader import Mapping, Node, Scalar, SourceFile, read_yaml
from codegen.yaml_reader import Sequence as NodeList


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a selector, and what it is limited to."""

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
    raise SpecError.at(node.position, "'ops' is a list of ops, or a map from ops to their limits.")


def _entry(name: Scalar, node: Node) -> Entry:
    if isinstance(node, Scalar) and node.is_null:
        return Entry(name.text, name.position)
    fields = Fields.of(node, f"the limits of '{name.text}'", ("dtypes", "storages"))
    dtypes, storages = fields.get("dtypes"), fields.get("storages")
    limit = Filter(
        EVERYTHING.dtypes if dtypes is None else frozenset(as_words(dtypes, DType, "DType")),
        EVERYTHING.storages if storages is None else frozenset(as_storages(storages)),
    )
    return Entry(name.text, name.position, limit)


def select_named(
    library: Library, entries: Sequence[Entry], limit: Filter, selection: Selection
) -> None:
    """Adds what the entries name, and the fused forms of it. Fails with every mistake found."""
    errors = ErrorList()
    named: set[str] = set()
    for entry in entries:
        with errors:
            named.update(op.name for op in _select(library, entry, limit, selection))
    errors.raise_any()
    for op in library.ops.values():
        if op.fused_from and len(named.intersection(op.fused_from)) >= op.fused_least:
            variants = _like_parts(library, op, selection)
            if variants:  # parts of one type and storage may be too few
                selection.add(op, variants)


def _select(library: Library, entry: Entry, limit: Filter, selection: Selection) -> Iterator[Op]:
    found = find(library, entry.name)
    if not found:
        message = f"'{entry.name}' is no op, kernel or variant of the specs."
        message += nearest(entry.name, known_names(library))
        raise SpecError.at(entry.position, message)
    both = limit & entry.limit
    kept = [(op, [v for v in dispatched(op, given) if both.accepts(v)]) for op, given in found]
    kept = [(op, variants) for op, variants in kept if variants or op.is_view]
    if not kept:
        message = f"'{entry.name}' has no variant with {both}; it has: "
        raise SpecError.at(entry.position, message + _span(v for _, vs in found for v in vs) + ".")
    for op, variants in kept:
        selection.add(op, variants)
        yield op


def _span(variants: Iterable[Variant]) -> str:
    """The dtypes and storages of some variants, as a filter that accepts them reads."""
    values = {value for variant in variants for value in variant.values.values()}
    dtypes = frozenset(value for value in values if isinstance(value, DType))
    return str(Filter(dtypes, frozenset(value for value in values if isinstance(value, Storage))))


def _like_parts(library: Library, op: Op, selection: Selection) -> list[Variant]:
    """The variants of a fused form whose dtype and storage enough of its parts are kept in."""
    kept = {(v.op, v.dtype, v.storage) for v in selection.kept(library)}
    return [
        v
        for v in dispatched(op, op.variants)
        if sum((part, v.dtype, v.storage) in kept for part in op.fused_from) >= op.fused_least
    ]
