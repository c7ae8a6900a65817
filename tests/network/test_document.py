"""The table of networks: rows are merged, and nothing else of it changes."""

from __future__ import annotations

from pathlib import Path

from tests.network.document import read_rows, write_rows


def test_rows_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "networks.md"
    assert read_rows(path) == {}
    write_rows(path, {"b": {"f32 buffer": "1.0e-06"}, "a": {"f32 buffer": "no: because"}})
    write_rows(path, {"b": {"f16 buffer": "2.0e-03"}, "a": {"f32 buffer": "3.0e-06"}})
    rows = read_rows(path)
    assert list(rows) == ["a", "b"]
    assert {k: v for k, v in rows["b"].items() if k != "date"} == {
        "f32 buffer": "1.0e-06",
        "f16 buffer": "2.0e-03",
    }
    assert rows["a"]["f32 buffer"] == "3.0e-06"


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "networks.md"
    write_rows(path, {"a": {"f32 buffer": "1.0e-06"}})
    once = path.read_text(encoding="utf-8")
    write_rows(path, read_rows(path))
    assert path.read_text(encoding="utf-8") == once
