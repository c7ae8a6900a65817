"""Selectors → selection: the union of what they name, within the filters, and all it needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.errors import ErrorList, Position, SpecError
from codegen.loader import Library
from codegen.select.closure import close
from codegen.select.filters import Filter, parse_words
from codegen.select.imported_model import ModelImport, no_import
from codegen.select.models import select_models
from codegen.select.named import Entry, read_entries, select_named
from codegen.select.selection import Selection
from codegen.vocabulary import DType, Storage
from codegen.yaml_reader import SourceFile


@dataclass(frozen=True, slots=True)
class Selectors:
    """What a user asks for; nothing means everything."""

    ops: tuple[str, ...] = ()
    ops_yaml: tuple[Path, ...] = ()
    models: tuple[Path, ...] = ()
    dtypes: tuple[str, ...] = ()
    storages: tuple[str, ...] = ()
    prefix: str = ""  # before the selectors' names in messages: SPIRLOOM_ for cache variables

    def __bool__(self) -> bool:
        return bool(self.ops or self.ops_yaml or self.models or self.dtypes or self.storages)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files to read."""
        return (*self.ops_yaml, *self.models)

    def named(self, selector: str) -> str:
        """A selector as its user knows it."""
        return self.prefix + selector


def select(
    library: Library, selectors: Selectors, import_model: ModelImport = no_import
) -> Selection:
    """The ops and variants that the selectors keep. Fails with the mistakes found."""
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
        raise SpecError.at(Position(_names(selectors)), f"Nothing is left with {limit}.")
    close(library, selection)
    return selection


def _filter(selectors: Selectors) -> Filter:
    named = selectors.named
    return Filter(
        parse_words(selectors.dtypes, DType, "DType", named("DTYPES")),
        parse_words(selectors.storages, Storage, "Storage", named("STORAGES")),
    )


def _entries(library: Library, selectors: Selectors) -> Iterator[Entry]:
    """The names to keep; every op if only filters are given."""
    if not (selectors.ops or selectors.inputs):
        yield Entry("*", Position(_names(selectors)))
    for name in selectors.ops:
        yield Entry(name, Position(selectors.named("OPS")))
    for path in selectors.ops_yaml:
        yield from read_entries(SourceFile(path, f"{selectors.named('OPS_YAML')}: {path}"))


def _names(selectors: Selectors) -> str:
    """The selectors that are given, for messages about all of them."""
    given = (
        ("OPS", selectors.ops),
        ("OPS_YAML", selectors.ops_yaml),
        ("MODELS", selectors.models),
        ("DTYPES", selectors.dtypes),
        ("STORAGES", selectors.storages),
    )
    return ", ".join(selectors.named(name) for name, values in given if values)
