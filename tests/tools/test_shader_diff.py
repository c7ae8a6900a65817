"""./dev shader-diff: changed variants, instruction counts, disassembly, revisions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from spirloom.runtime.native import find

from codegen.shader_pack import module_of
from tools.shader_diff import sides
from tools.shader_diff.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


def module(variant: str) -> bytes:
    files = find()
    assert files is not None
    found = module_of(files.shaders.read_bytes(), variant, "the pack")
    assert found is not None
    return found


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """`a` changes from relu to gelu, `b` and `c` from abs to neg; `same` does not change."""
    old, new = tmp_path / "old", tmp_path / "new"
    content = {
        old: {"a": "relu", "b": "abs", "c": "abs", "same": "exp", "gone": "exp"},
        new: {"a": "gelu", "b": "neg", "c": "neg", "same": "exp", "added": "exp"},
    }
    for directory, variants in content.items():
        directory.mkdir()
        for name, op in variants.items():
            (directory / f"{name}.spv").write_bytes(module(f"{op}_f32_buffer"))
    return old, new


def test_changes_by_instructions(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(map(str, pair))) == 1
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert "  a  (" in first
    assert "b and 1 more with equal modules" in second
    assert rest == ["only in OLD: gone", "only in NEW: added", "3 of 4 variants changed."]
    before, _, after, delta = first.split()[:4]
    assert int(after) - int(before) == int(delta) > 0
    counts = []
    for op in ("relu", "gelu"):
        listing = subprocess.run(
            ["spirv-dis", "-"], input=module(f"{op}_f32_buffer"), capture_output=True, check=True
        ).stdout.decode()
        body = [line.split() for line in listing[listing.index("OpFunction ") :].splitlines()[1:]]
        operations = [words[2] if words[1:2] == ["="] else words[0] for words in body if words]
        ignored = ("OpVariable", "OpFunction", "OpLine", "OpNoLine")
        counts.append(sum(each not in ignored for each in operations))
    assert [int(before), int(after)] == counts


def test_equal_sides(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(pair[0]), str(pair[0])]) == 0
    assert capsys.readouterr().out == "0 of 5 variants changed.\n"


def test_the_disassembly(pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*map(str, pair), "--only", "b", "--disassemble"]) == 1
    lines = capsys.readouterr().out.splitlines()
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert any("FNegate" in line for line in changed if line.startswith("+"))
    assert any("FAbs" in line for line in changed if line.startswith("-"))
    assert len(changed) < 12


def test_unknown_revisions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-revision"]) == 2
    assert "'no-such-revision' is no revision, pack or directory" in capsys.readouterr().err


def test_a_checkout_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own code generator, specs and templates."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("codegen", "spec_model"):
        (tree / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "tests/tools/division/op_specs", tree / "op_specs")
    shutil.copytree(ROOT / "templates/glsl/lib", tree / "templates/glsl/lib")
    shutil.copytree(ROOT / "tests/tools/division/templates", tree / "templates/glsl/division")
    monkeypatch.setattr(sides, "BUILT", tmp_path)
    sides.compile_tree(tree, tmp_path / "tree.slpack")
    assert "quotient_i32_buffer" in sides.read_modules(tmp_path / "tree.slpack")
