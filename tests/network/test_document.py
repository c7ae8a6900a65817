"""The table of models: rows are merged, and everything else is preserved."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.network.document import read_rows, write_rows

MODELS = Path(__file__).resolve().parents[2] / "docs/models.md"


def test_rows_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "models.md"
    assert read_rows(path) == {}
    write_rows(path, {"b": {"f32": "1.0e-06"}, "a": {"f32": "no: because, of this"}})
    write_rows(path, {"b": {"fp16": "2.0e-03"}, "c": {"f32": "3.0e-06"}})
    rows = read_rows(path)
    assert list(rows) == ["a", "b", "c"]
    assert {k: v for k, v in rows["b"].items() if k != "date"} == {
        "f32": "1.0e-06",
        "fp16": "2.0e-03",
    }
    assert rows["a"]["f32"] == "no: because, of this"


def test_the_committed_table_is_current(tmp_path: Path) -> None:
    path = tmp_path / "models.md"
    shutil.copy(MODELS, path)
    write_rows(path, read_rows(path))
    assert path.read_text(encoding="utf-8") == MODELS.read_text(
        encoding="utf-8"
    ), f"{MODELS} is stale: .venv/bin/python -m tests.network.survey --write docs/models.md"
