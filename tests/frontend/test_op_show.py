"""spirloom op show: GLSL, disassembly and statistics of a variant."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from spirloom.cli import main

from codegen.spirv_statistics import statistics

# A function that loads, adds and stores a float of a storage buffer.
MODULE = (
    (32, 10, 12, 1),  # OpTypePointer StorageBuffer
    (59, 10, 11, 12),  # OpVariable
    (54, 1, 2, 0, 3),  # OpFunction
    (248, 4),  # OpLabel
    (61, 1, 5, 11),  # OpLoad
    (129, 1, 6, 5, 5),  # OpFAdd
    (62, 11, 6),  # OpStore
    (253,),  # OpReturn
    (56,),  # OpFunctionEnd
)


def module() -> bytes:
    words = [0x07230203, 0x00010300, 0, 20, 0]
    for opcode, *operands in MODULE:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def pack(variant: str) -> bytes:
    """A pack with the module of one variant."""
    name, code = variant.encode() + b"\0", module()
    strings_at = 64 + 64 + 32
    tables = (64, 128, strings_at, len(name), 0, 0)
    header = struct.pack("<4sIQQ8I8x", b"SLPK", 8, 0, 0, 1, 1, *tables)
    row = struct.pack("<16xII40x", 0, 0)
    entry = struct.pack("<QIII4xQ", strings_at + len(name), len(code), len(code), 0, 0)
    return header + row + entry + name + code


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["op", "show", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_glsl_has_neither_line_directives_nor_unused_functions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "relu_f32_buffer")
    assert (code, err) == (0, "")
    assert "return relu(x);" in out and "float relu(float v)" in out
    assert "#line" not in out and "precise_tanh" not in out and "divide" not in out


def test_names_that_are_not_one_variant(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "relu")
    assert code == 1
    assert err.startswith("spirloom: error: 'relu' is not one variant. Choose one of:\n")
    assert "\n  relu_f16_buffer\n" in err
    _, _, err = run(capsys, "aten.mm")
    assert "\n  and " in err and " more\n" in err
    _, _, err = run(capsys, "relu_f32_b")
    assert err.endswith("Choose one of:\n  relu_f32_buffer\n")
    _, _, err = run(capsys, "relu_f32_bufer")
    assert err.startswith(
        "spirloom: error: No variant, kernel or operator is named 'relu_f32_bufer'. Did you mean "
        "relu_f32_buffer"
    )


def test_statistics_by_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.slpack"
    file.write_bytes(pack("relu_f32_buffer"))
    code, out, _ = run(capsys, "relu_f32_buffer", "--stats", "--pack", str(file))
    assert code == 0
    assert out == (
        "relu_f32_buffer: 6 instructions, 136 bytes\n"
        "  loads: buffers        1\n"
        "  stores: buffers       1\n"
        "  float arithmetic      1\n"
    )
    assert statistics(module())["instructions"] == 6


def test_disassembly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("spirv-dis") is None:
        pytest.skip("spirv-dis is not installed")
    file = tmp_path / "one.slpack"
    file.write_bytes(pack("relu_f32_buffer"))
    code, out, _ = run(capsys, "relu_f32_buffer", "--spirv", "--pack", str(file))
    assert code == 0
    assert "OpFAdd" in out


def test_modules_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "one.slpack"
    _, _, err = run(capsys, "relu_f32_buffer", "--stats", "--pack", str(file))
    assert err == f"spirloom: error: Cannot read {file}: No such file or directory.\n"
    file.write_bytes(b"no pack")
    _, _, err = run(capsys, "relu_f32_buffer", "--stats", "--pack", str(file))
    assert err.endswith("is not a shader pack: it does not begin with 'SLPK'.\n")
    file.write_bytes(pack("add_f32_buffer"))
    _, _, err = run(capsys, "relu_f32_buffer", "--stats", "--pack", str(file))
    assert err == (
        f"spirloom: error: {file} does not contain relu_f32_buffer: it is older than the spec, or "
        "selects other variants. Name another pack with --pack.\n"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    file.write_bytes(pack("relu_f32_buffer"))
    _, _, err = run(capsys, "relu_f32_buffer", "--spirv", "--pack", str(file))
    assert "requires spirv-dis" in err
