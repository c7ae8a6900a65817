"""The page of sizes: parsing, and the definition of growth."""

from __future__ import annotations

from benchmarks.size_packs import Variant, tables
from benchmarks.size_table import Table, growth, read
from spec_model.vocabulary import DType, Storage

PROGRAMS = Table(
    "Programs", ("program", "text", "file"), {"small": (900, 1_000), "x": (7, 2_000_000)}
)


def test_a_page_is_read_as_written() -> None:
    page = f"# Sizes\n\nWords | and a bar.\n\n{PROGRAMS.markdown()}"
    assert read(page) == {"Programs": PROGRAMS}


def test_growth_is_in_the_last_column_and_beyond_the_tolerance() -> None:
    recorded = {"Programs": PROGRAMS}
    rows = {"small": (9_000, 1_200), "x": (7, 2_059_000), "new": (1, 10**9)}
    assert growth(recorded, [Table("Programs", PROGRAMS.columns, rows)]) == []
    rows = {"small": (900, 1_300), "x": (7, 2_061_000)}
    assert growth(recorded, [Table("Programs", PROGRAMS.columns, rows)]) == [
        "Programs: small: 1,300 bytes, recorded: 1,000",
        "Programs: x: 2,061,000 bytes, recorded: 2,000,000",
    ]


def test_a_shared_module_counts_once_in_each_group() -> None:
    f32, images = DType.F32, (Storage.TEXTURE3D, Storage.TEXTURE2D)
    variants = [Variant("aten.add", f32, storage, 1, 40, 100) for storage in images]
    variants.append(Variant("aten.add", f32, Storage.BUFFER, 2, 10, 30))
    by_storage, by_operator = tables(variants)
    assert by_operator.rows == {"aten.add": (3, 2, 50, 130), "all": (3, 2, 50, 130)}
    assert by_storage.rows == {
        "f32 buffer": (1, 1, 10, 30),
        "f32 texture2d": (1, 1, 40, 100),
        "f32 texture3d": (1, 1, 40, 100),
        "all": (3, 2, 50, 130),
    }
