"""Files of commands: not the input itself, and complete or absent."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.profile_file import add_runs
from spirloom.report import write
from spirloom.report.write import Sources, write_report


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("report FILE -o FILE", "-o"),
        ("report other --profile FILE -o FILE", "-o"),
        ("run FILE --random --record FILE", "--record"),
        ("bug-report FILE --random -o FILE", "-o"),
        ("bisect FILE --random -o FILE", "-o"),
        ("profile export FILE --perfetto FILE", "--perfetto"),
        ("profile export FILE --csv FILE", "--csv"),
    ],
)
def test_the_input_is_not_replaced(
    command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.slg"
    path.write_bytes(b"content")
    link = tmp_path / "link"
    link.symlink_to(path)
    source, _, output = command.rpartition("FILE")[0].rpartition("FILE")
    words = f"{source}{path}{output}{link}".split()
    assert main(words) == 1
    expected = f"{option} is the input itself, {path}. Use another file name."
    assert capsys.readouterr().err == f"spirloom: error: {expected}\n"
    assert path.read_bytes() == b"content"


@contextmanager
def small_files() -> Iterator[None]:
    """Files have at most 100 bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


WRITERS: list[Callable[[Path], Any]] = [
    lambda path: add_runs(path, {"device": "x" * 200}),
    lambda path: write_report(path.with_name("net.slg"), path, Sources()),
]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_failed_write_leaves_no_file(
    writer: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "report_data", lambda *_: {})
    monkeypatch.setattr(write, "page_of", lambda _: "x" * 200)
    with small_files(), pytest.raises(ImportFailure, match=r"Cannot write .*: File too large\."):
        writer(tmp_path / "out")
    assert not list(tmp_path.iterdir())
