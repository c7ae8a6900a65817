"""Modules are compared by content: names of variants and debug information do not count."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.tools.pack_files import pack
from tools import compare_shaders

HEADER = (0x07230203, 0x00010300, 0, 8, 0)
CAPABILITY = (2 << 16 | 17, 1)  # OpCapability Shader
MEMORY_MODEL = (3 << 16 | 14, 0, 1)


def module(*extra: int) -> bytes:
    words = (*HEADER, *CAPABILITY, *extra, *MEMORY_MODEL)
    return struct.pack(f"<{len(words)}I", *words)


def name_of(identifier: int, text: bytes) -> tuple[int, ...]:
    """OpName of up to three characters."""
    return (3 << 16 | 5, identifier, *struct.unpack("<I", text.ljust(4, b"\0")))


@pytest.fixture
def packs(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "old.slpack", tmp_path / "new.slpack"


def test_renamed_variants_and_debug_names_are_equal(
    packs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = packs
    old.write_bytes(pack({"relu_rows_f32": module(*name_of(4, b"old"))}))
    new.write_bytes(pack({"relu_gemv_f32": module(*name_of(4, b"new"), *name_of(5, b"x"))}))
    assert compare_shaders.main([str(old), str(new)]) == 0
    assert "1 modules are on both sides." in capsys.readouterr().out


def test_a_changed_module_is_listed_with_its_variant(
    packs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = packs
    kept = module()
    old.write_bytes(pack({"add_f32": kept, "relu_f32": module(1 << 16 | 1)}))
    new.write_bytes(pack({"add_f32": kept, "relu_f32": module(1 << 16 | 1, 1 << 16 | 1)}))
    assert compare_shaders.main([str(old), str(new)]) == 1
    out = capsys.readouterr().out
    assert out.count("(relu_f32)") == 2 and "add_f32" not in out
    assert "only in OLD: " in out and "only in NEW: " in out


def test_a_module_with_more_variants_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for directory, names in (("old", ["a"]), ("new", ["a", "b"])):
        (tmp_path / directory).mkdir()
        for name in names:
            (tmp_path / directory / f"{name}.spv").write_bytes(module())
    assert compare_shaders.main([str(tmp_path / "old"), str(tmp_path / "new")]) == 1
    assert "has 1 in OLD (a), 2 in NEW (a, b)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"text", "is not a shader pack: it does not begin with 'SLPK'."),
        (pack({"a": module()})[:-4], "the instruction at word 7 extends beyond its end."),
        (pack({"a": b"none"}), "The module of a in"),
        (b"SLPK\x06" + bytes(59), "has version 6 of the pack format; expected 8 or 9 or 10."),
    ],
)
def test_unreadable_packs_are_errors(
    packs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], data: bytes, message: str
) -> None:
    packs[0].write_bytes(data)
    assert compare_shaders.main([str(packs[0]), str(packs[0])]) == 2
    assert message in capsys.readouterr().err
