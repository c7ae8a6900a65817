"""Selectors → selection: the union of their ops and variants, filtered, with dependencies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.select.filters import Filter, parse_words, words_of
from codegen.select.models import ModelImport, no_import, select_models
from codegen.select.named import Entry, read_entries, select_named
from codegen.select.selection import Selection, close
from spec_model.errors import ErrorList, Position, SpecError
from spec_model.library import Library
from spec_model.op import Op
from spec_model.spec import Variant
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_reader import SourceFile


@dataclass(frozen=True, slots=True)
class Selectors:
    """The selectors of a library; without any, all variants are kept."""

    ops: tuple[str, ...] = ()
    ops_yaml: tuple[Path, ...] = ()
    models: tuple[Path, ...] = ()
    dtypes: tuple[str, ...] = ()
    storages: tuple[str, ...] = ()
    prefix: str = ""  # of selectors in messages: SPIRLOOM_ for cache variables

    def __bool__(self) -> bool:
        return bool(self.ops or self.ops_yaml or self.models or self.dtypes or self.storages)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files to read."""
        return (*self.ops_yaml, *self.models)

    def named(self, selector: str) -> str:
        """The name of a selector in messages."""
        return self.prefix + selector


def select(
    library: Library, selectors: Selectors, import_model: ModelImport = no_import
) -> Selection:
    """The ops and variants that the selectors keep. Reports all errors."""
    selection = Selection()
    errors = ErrorList()
    limit = _filter(selectors)
    with errors:
        select_named(library, list(_entries(library, selectors)), limit, selection)
    with errors:
        named = selectors.named("MODELS")
        select_models(library, selectors.models, limit, selection, named, import_model)
    errors.raise_any()
    if not selection.kept(library):
        raise SpecError.at(Position(_names(selectors)), f"No variant has {limit}.")
    close(library, selection)
    return selection


def _filter(selectors: Selectors) -> Filter:
    named = selectors.named
    return Filter(
        parse_words(selectors.dtypes, DType, "DType", named("DTYPES")),
        parse_words(selectors.storages, Storage, "Storage", named("STORAGES")),
    )


def _entries(library: Library, selectors: Selectors) -> Iterator[Entry]:
    """The selected names; every op if there are only filters."""
    if not (selectors.ops or selectors.inputs):
        yield Entry("*", Position(_names(selectors)))
    for name in selectors.ops:
        yield Entry(name, Position(selectors.named("OPS")))
    for path in selectors.ops_yaml:
        yield from read_entries(SourceFile(path, f"{selectors.named('OPS_YAML')}: {path}"))


def _names(selectors: Selectors) -> str:
    """The non-empty selectors, for messages about all of them."""
    given = (
        ("OPS", selectors.ops),
        ("OPS_YAML", selectors.ops_yaml),
        ("MODELS", selectors.models),
        ("DTYPES", selectors.dtypes),
        ("STORAGES", selectors.storages),
    )
    return ", ".join(selectors.named(name) for name, values in given if values)


def summary(library: Library, selection: Selection) -> str:
    """The counts of kept ops and variants."""
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
    """The most restrictive filter that accepts all of them."""
    values = {value for variant in variants for value in variant.values.values()}
    dtypes = frozenset(value for value in values if isinstance(value, DType))
    return Filter(dtypes, frozenset(value for value in values if isinstance(value, Storage)))
