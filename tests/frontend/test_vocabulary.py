"""Enums of specs equal those of the graph file's schema."""

from __future__ import annotations

from spirloom.graph_file import DTYPES, STORAGES
from spirloom_schema.DType import DType as SchemaDType
from spirloom_schema.Storage import Storage as SchemaStorage

from spec_model.graph_file import SCHEMA, ArgKind
from spec_model.vocabulary import DType, Storage


def codes(schema: type) -> dict[str, int]:
    """The enum of the schema: lower-case name → number."""
    members = {name: code for name, code in vars(schema).items() if not name.startswith("__")}
    return {name.lower(): code for name, code in members.items() if isinstance(code, int)}


def test_dtypes_are_the_schemas() -> None:
    assert {dtype.row.id.lower(): dtype.code for dtype in DType} == codes(SchemaDType)
    assert [dtype.code for dtype in DTYPES] == list(range(len(DTYPES)))


def test_storages_are_the_schemas() -> None:
    assert {"auto": 0} | {storage.value: storage.code for storage in Storage} == codes(
        SchemaStorage
    )
    assert [storage.code if storage else 0 for storage in STORAGES] == list(range(len(STORAGES)))


def test_kinds_of_arguments_are_the_schemas() -> None:
    names = {name.lower().replace("_", ""): code for name, code in ArgKind.__members__.items()}
    assert names == {name.lower(): code for name, code in SCHEMA.enums["ArgKind"].items()}
