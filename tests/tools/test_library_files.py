"""Shader library files: additional, overriding, replacing the built-in one, and invalid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.programs import Packs, Program, ReluModel

RELU = [0, 0, 0, 1, 2]
OTHER = [0, 0, 0, -1, -2]


def test_overriding_library(spirloom_run: Program, relu_model: ReluModel, packs: Packs) -> None:
    assert relu_model.run(spirloom_run) == RELU
    for storage in ("buffer", "texture3d", "texture2d"):
        options = ("--library", packs.overriding, "--storage", storage)
        assert relu_model.run(spirloom_run, *options) == OTHER


def test_override_option(spirloom_run: Program, relu_model: ReluModel, packs: Packs) -> None:
    assert relu_model.run(spirloom_run, "--override", packs.clashing) == OTHER


def test_conflict_names_the_operator_and_both_libraries(
    spirloom_run: Program, relu_model: ReluModel, packs: Packs
) -> None:
    message = relu_model.rejected(spirloom_run, "--library", packs.clashing)
    both = f"'spirloom::shaders_all' and '{packs.clashing}'"
    assert f"The op 'aten.relu' is in two shader libraries, {both}" in message
    two = ("--library", packs.overriding, "--override", packs.clashing)
    message = relu_model.rejected(spirloom_run, *two)
    both = f"'{packs.overriding}' and '{packs.clashing}'"
    assert f"The shader libraries {both} both override the op 'aten.relu'." in message


def test_without_the_built_in_library(
    spirloom_run: Program, relu_model: ReluModel, packs: Packs
) -> None:
    options = ("--no-builtin", "--library", packs.clashing)
    assert relu_model.run(spirloom_run, *options) == OTHER
    assert "aten.relu: operator not found" in relu_model.rejected(spirloom_run, "--no-builtin")


@pytest.mark.parametrize("kept", [0, 1, 63, 64, 700, -1])
def test_truncated_file(
    spirloom_run: Program, relu_model: ReluModel, packs: Packs, tmp_path: Path, kept: int
) -> None:
    truncated = tmp_path / "truncated.slpack"
    truncated.write_bytes(packs.clashing.read_bytes()[:kept])
    assert f"opening the shader library '{truncated}'" in relu_model.rejected(
        spirloom_run, "--library", truncated
    )


def test_damaged_or_missing_file(
    spirloom_run: Program, relu_model: ReluModel, packs: Packs, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.slpack"
    data = bytearray(packs.clashing.read_bytes())
    data[-9] ^= 4
    damaged.write_bytes(data)
    assert "it is damaged" in relu_model.rejected(spirloom_run, "--library", damaged)
    missing = tmp_path / "missing.slpack"
    assert f"File '{missing}' cannot be read" in relu_model.rejected(
        spirloom_run, "--library", missing
    )


def test_another_version(
    spirloom_run: Program, relu_model: ReluModel, packs: Packs, tmp_path: Path
) -> None:
    newer = tmp_path / "newer.slpack"
    data = bytearray(packs.clashing.read_bytes())
    data[4] = 99
    newer.write_bytes(data)
    done = spirloom_run(relu_model.path, "--input", f"x={relu_model.x}", "--library", newer)
    assert done.returncode == 1
    assert "The shader pack has version 99; this build reads" in done.stderr


def test_spirloom_ops_lists_files(spirloom_ops: Program, packs: Packs, tmp_path: Path) -> None:
    done = spirloom_ops("--library", packs.clashing, "--json", "--extract", tmp_path)
    assert done.returncode == 0, done.stderr
    (op,) = json.loads(done.stdout)["ops"]
    assert (op["op"], op["args"]) == ("aten.relu", ["x"])
    ids = {variant["id"] for kernel in op["kernels"] for variant in kernel["variants"]}
    assert ids == {f"relu_f32_{storage}" for storage in ("buffer", "texture3d", "texture2d")}
    assert {path.stem for path in tmp_path.glob("*.spv")} == ids
    done = spirloom_ops("--library", tmp_path / "missing.slpack")
    assert done.returncode == 1
    assert "missing.slpack" in done.stderr
