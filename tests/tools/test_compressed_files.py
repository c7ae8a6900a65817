"""Compressed shader libraries: smaller files with equal modules."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tools.programs import Packs, Program, ReluModel


def test_equal_results(spirloom_run: Program, relu_model: ReluModel, packs: Packs) -> None:
    for storage in ("buffer", "texture3d", "texture2d"):
        raw = relu_model.run(spirloom_run, "--override", packs.clashing, "--storage", storage)
        options = ("--override", packs.compressed, "--storage", storage)
        assert relu_model.run(spirloom_run, *options) == raw


def test_equal_modules_in_fewer_bytes(spirloom_ops: Program, packs: Packs, tmp_path: Path) -> None:
    listed = []
    for pack in (packs.clashing, packs.compressed):
        done = spirloom_ops("--library", pack, "--json", "--extract", tmp_path / pack.parent.name)
        assert done.returncode == 0, done.stderr
        listed.append(json.loads(done.stdout)["totals"])
    raw, compressed = listed
    assert raw["stored_bytes"] == raw["module_bytes"] == compressed["module_bytes"]
    assert compressed["stored_bytes"] < 0.7 * raw["stored_bytes"]
    for module in (tmp_path / packs.clashing.parent.name).glob("*.spv"):
        other = tmp_path / packs.compressed.parent.name / module.name
        assert other.read_bytes() == module.read_bytes()


def test_damaged_frame_is_rejected(
    spirloom_run: Program, relu_model: ReluModel, packs: Packs, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged.slpack"
    data = bytearray(packs.compressed.read_bytes())
    data[-20] ^= 1
    damaged.write_bytes(data)
    assert "it is damaged" in relu_model.rejected(spirloom_run, "--override", damaged)
