"""spirloom-ops: what a binary holds."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tools.programs import Program

SPIRV_MAGIC = (0x07230203).to_bytes(4, "little")


def test_lists_operators(spirloom_ops: Program) -> None:
    done = spirloom_ops()
    assert done.returncode == 0, done.stderr
    assert "aten.add.Tensor" in done.stdout
    assert "add_f32_buffer" in done.stdout


def test_filters_by_a_glob(spirloom_ops: Program) -> None:
    done = spirloom_ops("--op", "aten.mul.*")
    assert done.returncode == 0, done.stderr
    assert "aten.mul.Tensor" in done.stdout
    assert "aten.add.Tensor" not in done.stdout


def test_json_is_json(spirloom_ops: Program) -> None:
    done = spirloom_ops("--json")
    assert done.returncode == 0, done.stderr
    assert "add_f32_texture3d" in json.dumps(json.loads(done.stdout))


def test_extracts_modules(spirloom_ops: Program, tmp_path: Path) -> None:
    done = spirloom_ops("--op", "aten.add.Tensor", "--extract", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "add_f32_buffer.spv").read_bytes()[:4] == SPIRV_MAGIC


def test_refuses_bad_usage(spirloom_ops: Program, tmp_path: Path) -> None:
    assert spirloom_ops("--no-such-option").returncode == 2
    file = tmp_path / "file"
    file.touch()
    done = spirloom_ops("--extract", file)
    assert done.returncode == 2
    assert str(file) in done.stderr
