"""./dev shader-diff: changed variants, instruction counts, disassembly, revisions."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.shader_diff import sides
from tools.shader_diff.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
GLSL = """#version 450
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() {
  float v = x[gl_GlobalInvocationID.x];
  y[gl_GlobalInvocationID.x] = EXPRESSION;
}
"""
RELU, GELU = "max(v, 0.0)", "0.5 * v * (1.0 + tanh(0.7978846 * v * (1.0 + 0.044715 * v * v)))"


def module(expression: str) -> bytes:
    """The module of y[i] = f(x[i])."""
    done = subprocess.run(
        ["glslangValidator", "-V", "--stdin", "-S", "comp", "-o", "/dev/stdout", "--quiet"],
        input=GLSL.replace("EXPRESSION", expression).encode(), capture_output=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """`a` changes from relu to gelu, `b` and `c` from abs to neg; `same` does not change."""
    old, new = tmp_path / "old", tmp_path / "new"
    content = {
        old: {"a": RELU, "b": "abs(v)", "c": "abs(v)", "same": "exp(v)", "gone": "exp(v)"},
        new: {"a": GELU, "b": "-v", "c": "-v", "same": "exp(v)", "added": "exp(v)"},
    }
    for directory, variants in content.items():
        directory.mkdir()
        for name, expression in variants.items():
            (directory / f"{name}.spv").write_bytes(module(expression))
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
    for expression in (RELU, GELU):
        listing = subprocess.run(
            ["spirv-dis", "-"], input=module(expression), capture_output=True, check=True
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
