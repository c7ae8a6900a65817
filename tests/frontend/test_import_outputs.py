"""The file that `spirloom import` writes: where, over what, and with which attachments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from spirloom import graph_reader

from tests.frontend.command_line import run, saved, small_network


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("", "is a directory. -o requires a file name."),
        ("gone/m.slg", "/gone/m.slg: the directory "),
        ("m.onnx", "-o is the input itself"),
        ("other.onnx", "other.onnx exists and is not a graph file, so it is not replaced."),
    ],
)
def test_invalid_outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str, message: str
) -> None:
    path = Path(saved(small_network(), tmp_path))
    before = path.read_bytes()
    (tmp_path / "other.onnx").write_bytes(before)
    arguments = ("import", str(path), "-o", str(tmp_path / output), "--dim", "batch=1")
    code, _, err = run(capsys, *arguments)
    assert code == 1 and message in err
    assert path.read_bytes() == (tmp_path / "other.onnx").read_bytes() == before


def test_attachments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = saved(small_network(), tmp_path), tmp_path / "m.slg"
    classes = tmp_path / "classes=1.txt"
    classes.write_bytes(b"cat\ndog\n")
    arguments = ("import", path, "-o", str(output), "--dim", "batch=1", "--attach")
    assert run(capsys, *arguments, f"classes.txt={classes}")[0] == 0
    assert graph_reader.load(output).attachments["classes.txt"] == b"cat\ndog\n"
    for text, message in (
        ("classes.txt", "--attach must be NAME=FILE, not 'classes.txt'."),
        (f"a={tmp_path}/no", f"Cannot read {tmp_path}/no: No such file or directory."),
        (f"{'a' * 256}={classes}", "The name of an attachment must have 1 to 255 bytes"),
    ):
        code, _, err = run(capsys, *arguments, text)
        assert code == 1 and message in err


@pytest.mark.parametrize(("output", "before"), [("m.slg", b"a text"), ("m", b"")])
def test_replaced_outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str, before: bytes
) -> None:
    """Damaged graph files, empty files, and graph files of any name."""
    path = Path(saved(small_network(), tmp_path))
    (tmp_path / output).write_bytes(before)
    arguments = ("import", str(path), "-o", str(tmp_path / output), "--dim", "batch=1")
    for _ in range(2):
        assert run(capsys, *arguments)[0] == 0
    assert (tmp_path / output).read_bytes()[8:12] == b"SLG1"


def test_a_directory_without_write_permission_is_found_before_the_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(saved(small_network(), tmp_path))
    path.write_bytes(b"no model")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    code, _, err = run(capsys, "import", str(path), "-o", str(tmp_path / "m.slg"))
    reason = f"the directory {tmp_path} is not writable"
    assert code == 1
    assert err == f"spirloom: error: Cannot write {tmp_path / 'm.slg'}: {reason}.\n"
