"""Tables of vocabularies: their readers, and the files that copy their rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from spec_model import table
from spec_model.activations import ACTIVATION_OF_OP, Activation, RnnActivation
from spec_model.data_types import DATA_TYPES, Kind
from spec_model.vocabulary import DTYPE_GROUPS, Capability, DType, Storage
from tools import vocabularies


def test_the_copied_rows_are_up_to_date() -> None:
    assert vocabularies.stale() == []


def test_each_copying_file_has_rows() -> None:
    for name in vocabularies.FILES:
        assert "End of rows" in (vocabularies.ROOT / name).read_text(encoding="utf-8"), name


def test_a_region_is_rewritten() -> None:
    text = "a\n  // Rows of storages.inc from 2: k{id} = {code},  // {name}\n"
    text += "  old\n  // End of rows.\nb\n"
    assert vocabularies.updated(text) == (
        "a\n  // Rows of storages.inc from 2: k{id} = {code},  // {name}\n"
        "  kTexture3D = 2,  // texture3d\n  kTexture2D = 3,  // texture2d\n  // End of rows.\nb\n"
    )


def test_enums_have_the_rows_in_order() -> None:
    assert list(DType) == list(DATA_TYPES)
    columns = {
        "storages.inc": ("SPIRLOOM_STORAGE", ["auto", *Storage]),
        "capabilities.inc": ("SPIRLOOM_CAPABILITY", [*Capability]),
        "activations.inc": ("SPIRLOOM_ACTIVATION", [each.name.lower() for each in Activation]),
    }
    for file, (macro, names) in columns.items():
        assert [row["name"] for row in table.rows(file, macro)] == names
    assert len(RnnActivation) == len(table.rows("activations.inc", "SPIRLOOM_RNN_ACTIVATION"))


def test_a_dtype_has_the_size_and_range_of_its_numpy_type() -> None:
    np = pytest.importorskip("numpy")
    for dtype in DType:
        row = dtype.row
        assert dtype.numpy.itemsize == row.bytes
        assert DType.of(dtype.numpy) is dtype
        if row.kind is Kind.FLOAT:
            info = np.finfo(dtype.numpy)
            assert (row.exponent, row.mantissa) == (info.nexp, info.nmant)
            assert (row.min, row.max) == (float(info.min), float(info.max))
        if row.kind is Kind.INT:
            info = np.iinfo(dtype.numpy)
            assert (row.min, row.max) == (info.min, info.max)


def test_groups() -> None:
    assert DTYPE_GROUPS["floats"] == (DType.F32, DType.F16)
    assert DTYPE_GROUPS["ints"] == (DType.I32, DType.I8, DType.U8)
    assert DTYPE_GROUPS["numbers"] == DTYPE_GROUPS["floats"] + DTYPE_GROUPS["ints"]
    assert DTYPE_GROUPS["all"] == (*DTYPE_GROUPS["numbers"], DType.B8)


def test_activations_of_operators() -> None:
    assert ACTIVATION_OF_OP["aten.silu"] is Activation.SILU
    assert "" not in ACTIVATION_OF_OP


def test_a_row_of_another_length_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "__file__", str(tmp_path / "table.py"))
    (tmp_path / "t.inc").write_text('//   ROW(a, b,\n//       c)\nROW(1, "2, 3", 4)\nROW(1, 2)\n')
    with pytest.raises(ValueError, match=r"t\.inc:4: The row has 2 items; expected 3\."):
        table.rows("t.inc", "ROW")
    (tmp_path / "t.inc").write_text('//   ROW(a, b,\n//       c)\nROW(1, "2, 3", 4)\n')
    assert table.rows("t.inc", "ROW") == [{"a": "1", "b": "2, 3", "c": "4", "code": "0"}]
    (tmp_path / "t.inc").write_text("ROW(1)\n")
    with pytest.raises(ValueError, match="does not list the columns of ROW"):
        table.rows("t.inc", "ROW")
