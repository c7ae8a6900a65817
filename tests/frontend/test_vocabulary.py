"""The words that front end, generator and the graph file's schema share are the same."""

from __future__ import annotations

from spirloom import ir
from spirloom_schema import DType as schema_dtype
from spirloom_schema import Storage as schema_storage

from codegen import vocabulary


def test_dtypes_are_the_generators_and_the_schemas() -> None:
    names = [dtype.value for dtype in ir.DType]
    assert names == [dtype.value for dtype in vocabulary.DType]
    for dtype in vocabulary.DType:
        assert getattr(schema_dtype.DType, dtype.name) == dtype.code


def test_storages_are_the_generators_and_the_schemas() -> None:
    known = schema_storage.Storage
    codes = {"auto": known.Auto, "buffer": known.Buffer, "texture3d": known.Texture3D}
    assert [storage.value for storage in ir.Storage] == list(codes)
    for storage in vocabulary.Storage:
        assert codes[storage.value] == storage.code
