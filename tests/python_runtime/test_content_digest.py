"""The keys of cached models: another key for any other byte, and unchanged files are not read."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from spirloom.llm import content_digest as module
from spirloom.llm.content_digest import content_digest


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(random.Random(1).randbytes(5 << 20))
    os.utime(path, ns=(10**18, 10**18))
    return path


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as settled at once, as after two seconds."""
    monkeypatch.setattr(module, "_SETTLED_SECONDS", -1)


def test_every_byte_counts(model: Path, tmp_path: Path) -> None:
    """Also if a tool restores the time of modification: that of the attributes tells."""
    choose = random.Random(2)
    seen = {content_digest(model, tmp_path / "digests")}
    for index in [0, (5 << 20) - 1, *(choose.randrange(5 << 20) for _ in range(12))]:
        with model.open("r+b") as file:
            file.seek(index)
            byte = file.read(1)[0]
            file.seek(index)
            file.write(bytes([byte ^ 1 << choose.randrange(8)]))
        os.utime(model, ns=(10**18, 10**18))
        seen.add(content_digest(model, tmp_path / "digests"))
    assert len(seen) == 15


def test_an_unchanged_file_is_not_read(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = content_digest(model, tmp_path / "digests")
    monkeypatch.setattr(module, "_CHUNK", 0)  # reads nothing
    assert content_digest(model, tmp_path / "digests") == first
    (entry,) = (tmp_path / "digests").iterdir()
    entry.write_text("[[1], 5")
    assert content_digest(model, tmp_path / "digests") != first, "a damaged entry is not used"


def test_a_file_that_was_just_written_is_read_again(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writes within the resolution of the clock have the same times."""
    monkeypatch.setattr(module, "_SETTLED_SECONDS", 1000)
    model.touch()
    content_digest(model, tmp_path / "digests")
    assert not (tmp_path / "digests").exists()
