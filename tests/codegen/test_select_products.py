"""The products of a generator run with a selection."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.codegen.small_project import SPEC, Project
from tests.codegen.test_output import files_of, generate, run, times_of


@pytest.fixture
def two_ops(project: Project) -> Project:
    """The small project with a second op."""
    project.write("op_specs/minus.yaml", SPEC.replace("aten.add", "aten.minus"))
    return project


def select(project: Project, *ops: str) -> Path:
    """Writes the selection of some ops."""
    path = project.root / "selection.json"
    assert run(project, "select", f"--out={path}", "--ops", *ops) == 0
    return path


def test_only_selected_variants_are_generated(two_ops: Project) -> None:
    full = files_of(generate(two_ops, "full"))
    selection = select(two_ops, "minus_f16_buffer")
    part = files_of(generate(two_ops, "part", f"--selection={selection}"))
    assert [name for name in part if name.startswith("glsl/")] == ["glsl/minus_f16_buffer.glsl"]
    assert b"aten.add" in full["registry.bin"]
    assert b"aten.add" not in part["registry.bin"]
    rows = {row["id"]: row for row in json.loads(full["manifest.json"])["variants"]}
    manifest = json.loads(part["manifest.json"])
    assert manifest["variants"] == [rows["minus_f16_buffer"]], "keys are those of the full library"


def test_another_selection_writes_only_differences(two_ops: Project) -> None:
    out = generate(two_ops, "out", f"--selection={select(two_ops, 'minus')}")
    before = times_of(out)
    generate(two_ops, "out", f"--selection={select(two_ops, 'minus', 'add')}")
    after = times_of(out)
    kept = [name for name in before if "minus" in name]
    assert kept and all(before[name] == after[name] for name in kept)
    assert times_of(select(two_ops, "add", "minus").parent / "out") == after, "in any order"


def test_the_depfile_lists_all_inputs(two_ops: Project) -> None:
    depfile = two_ops.root / "selection.json.d"
    out = two_ops.root / "selection.json"
    assert run(two_ops, "select", f"--out={out}", f"--depfile={depfile}", "--ops", "minus") == 0
    product, *inputs = depfile.read_text().replace("\\\n", "").split()
    assert product == f"{out}:"
    for name in ("op_specs", "op_specs/add.yaml", "templates/glsl/binary.yaml"):
        assert str(two_ops.root / name) in inputs


def test_an_equal_selection_is_not_rewritten(two_ops: Project) -> None:
    path = select(two_ops, "minus")
    before = path.stat().st_mtime_ns
    two_ops.write("op_specs/minus.yaml", SPEC.replace("aten.add", "aten.minus") + "# more\n")
    assert select(two_ops, "minus").stat().st_mtime_ns == before


def test_without_an_output_a_yaml_file_is_printed(
    two_ops: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(two_ops, "select", "--ops", "minus", "add_f16_buffer") == 0
    text = capsys.readouterr().out
    assert text.splitlines() == [
        "# 2 of 2 operators, 7 of 12 variants",
        "ops:",
        "  add: {dtypes: [f16], storages: [buffer]}",
        "  minus: {dtypes: [f32, f16], storages: [buffer, texture3d, texture2d]}",
    ]
    two_ops.write("ops.yaml", text)
    assert run(two_ops, "select", "--ops-yaml", str(two_ops.root / "ops.yaml")) == 0
    assert capsys.readouterr().out == text


def test_changed_specs_are_an_error(two_ops: Project, capsys: pytest.CaptureFixture[str]) -> None:
    selection = select(two_ops, "minus")
    (two_ops.root / "op_specs/minus.yaml").unlink()
    out = two_ops.root / "out"
    assert run(two_ops, "generate", f"--out={out}", f"--selection={selection}") == 1
    assert capsys.readouterr().err == (
        f"{selection}: error: 'aten.minus.Tensor' is selected, but is not in the specs; "
        "configure again.\n"
    )
    assert not out.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ops": 3}'])
def test_a_damaged_selection_is_an_error(
    two_ops: Project, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    two_ops.write("selection.json", text)
    options = (f"--out={two_ops.root / 'out'}", f"--selection={two_ops.root / 'selection.json'}")
    assert run(two_ops, "generate", *options) == 1
    assert "The selection cannot be read" in capsys.readouterr().err
