"""The table of models: rows are merged, and everything else is preserved."""

from __future__ import annotations

from pathlib import Path

from tests.network.document import read_rows, write_rows


def test_rows_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "models.md"
    assert read_rows("") == {}
    write_rows(path, {"b": {"f32": "1.0e-06"}, "a": {"f32": "no: because, of this"}})
    write_rows(path, {"b": {"fp16": "2.0e-03"}, "c": {"f32": "3.0e-06"}})
    rows = read_rows(path.read_text(encoding="utf-8"))
    assert list(rows) == ["a", "b", "c"]
    assert {k: v for k, v in rows["b"].items() if k != "date"} == {
        "f32": "1.0e-06",
        "fp16": "2.0e-03",
    }
    assert rows["a"]["f32"] == "no: because, of this"
