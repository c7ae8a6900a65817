"""Incremental generation after edits of templates: equal to a full run."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import codegen.generate
import codegen.output
from codegen.generate import generate
from codegen.output import Request
from spec_model.errors import SpecError
from tests.codegen.small_project import Project

TEMPLATE = "templates/glsl/binary.glsl.j2"


@pytest.fixture
def edited(project: Project) -> Project:
    """A generated project with an include file."""
    project.write("templates/glsl/lib/half.glsl.j2", "float half_of(float v) { return 0.5 * v; }\n")
    project.edit(TEMPLATE, "void main", '{% include "lib/half.glsl.j2" %}\nvoid main')
    settle(project)
    run(project)
    return project


def settle(project: Project) -> None:
    """Makes all inputs older than any run: inputs that change during a run invalidate its state."""
    old = time.time() - 60
    for path in project.root.rglob("*"):
        if path.is_file() and "out" not in path.parts:
            os.utime(path, (old, old))


def request(project: Project, out: str, state: Path | None) -> Request:
    directories = (project.root / "op_specs",), (project.root / "templates/glsl",)
    return Request(*directories, project.root / out, "l", False, None, project.root, None, state)


def run(project: Project) -> list[str]:
    return generate(request(project, "out", project.root / "out" / "state"))


def incremental_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A run that must not load specs."""
    settle(project)
    with monkeypatch.context() as patch:
        patch.setattr(codegen.generate, "load_library", None)
        return run(project)


def same_as_a_full_run(project: Project) -> bool:
    generate(request(project, "whole", None))
    whole = {p.relative_to(project.root / "whole"): p for p in project.root.glob("whole/**/*.*")}
    out = project.root / "out"
    return all((out / name).read_bytes() == path.read_bytes() for name, path in whole.items())


def test_nothing_changed(edited: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    times = {p: p.stat().st_mtime_ns for p in edited.root.glob("out/**/*")}
    assert incremental_run(edited, monkeypatch) == []
    assert {p: p.stat().st_mtime_ns for p in edited.root.glob("out/**/*")} == times


def test_an_edited_template(edited: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for old, new in (("* v", "* 3 * v"), ("* 3 * v", "* 4 * v")):
        edited.edit(TEMPLATE, old, new)
        changed = incremental_run(edited, monkeypatch)
        assert changed == ["glsl/add_f32_buffer.glsl", "glsl/add_f16_buffer.glsl", "glsl.digest"]
        assert same_as_a_full_run(edited)


def test_an_edited_include(edited: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    edited.edit("templates/glsl/lib/half.glsl.j2", "0.5", "0.25")
    every = {f"glsl/{variant.id}.glsl" for variant in edited.load().variants}
    assert set(incremental_run(edited, monkeypatch)) == {*every, "glsl.digest"}
    assert same_as_a_full_run(edited)


def add_include(project: Project) -> None:
    project.write("templates/glsl/lib/more.glsl.j2", "// more\n")
    project.edit(TEMPLATE, "void main", '{% include "lib/more.glsl.j2" %}\nvoid main')


def damage_state(project: Project) -> None:
    state = project.root / "out" / "state"
    state.write_bytes(state.read_bytes()[:-1])
    project.edit(TEMPLATE, "void main", "\nvoid main")


def write_state_of_another_version(project: Project) -> None:
    """Writes a valid state file with a class that does not exist."""
    data = b"ccodegen.incremental\nAbsent\n."
    (project.root / "out" / "state").write_bytes(hashlib.blake2b(data).digest() + data)


@pytest.mark.parametrize(
    "change",
    [
        lambda project: project.spec("alpha: 0.5", "alpha: 0.25"),
        lambda project: project.edit("templates/glsl/binary.yaml", "scale: 2", "scale: 3"),
        lambda project: project.write("op_specs/reference/more.py", "x = 1\n"),
        lambda project: (project.root / "out/registry.bin").unlink(),
        lambda project: (project.root / "out/glsl/add_f32_buffer.glsl").write_text("damaged"),
        lambda project: project.edit(TEMPLATE, '{% include "lib/half.glsl.j2" %}\n', ""),
        add_include,
        damage_state,
        write_state_of_another_version,
    ],
)
def test_changes_that_require_a_full_run(
    edited: Project, change: Callable[[Project], object]
) -> None:
    change(edited)
    settle(edited)
    run(edited)
    assert same_as_a_full_run(edited)


def test_an_argument_that_a_template_begins_to_name(edited: Project) -> None:
    edited.spec("  push: {alpha: alpha}\n", "")
    edited.spec("expr: a + b * alpha", "expr: a + b")
    settle(edited)
    run(edited)
    edited.edit(TEMPLATE, "void main", "float scaled(float v) { return alpha * v; }\nvoid main")
    settle(edited)
    run(edited)
    assert same_as_a_full_run(edited)


@pytest.mark.parametrize("text", ["{{ nonsense }}", "{% if %}", "{{ 1 // 0 }}"])
def test_errors_are_reported_as_by_a_full_run(edited: Project, text: str) -> None:
    edited.edit(TEMPLATE, "void main", f"{text}\nvoid main")
    settle(edited)
    with pytest.raises(SpecError) as incremental_error:
        run(edited)
    with pytest.raises(SpecError) as full_error:
        generate(request(edited, "whole", None))
    assert str(incremental_error.value) == str(full_error.value)
    assert f"{TEMPLATE}:" in str(incremental_error.value)


def test_members_that_become_unused_are_errors(edited: Project) -> None:
    edited.edit(TEMPLATE, "{{ expr }}", "{{ expr | replace('alpha', '2.0') }}")
    settle(edited)
    with pytest.raises(SpecError, match="Push constant 'alpha' is not used by any shader of add"):
        run(edited)


def test_an_input_that_is_newer_than_the_run_prevents_a_state(edited: Project) -> None:
    edited.edit(TEMPLATE, "void main", "\nvoid main")
    run(edited)
    assert not (edited.root / "out" / "state").exists()
    assert same_as_a_full_run(edited)


def test_an_interrupted_run_is_repaired(edited: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    edited.edit(TEMPLATE, "void main", "int one() { return 1; }\nvoid main")
    settle(edited)

    def half(path: Path, data: bytes) -> None:
        path.write_bytes(data[: len(data) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(codegen.output, "_overwrite", half)
        with pytest.raises(KeyboardInterrupt):
            run(edited)
    run(edited)
    assert same_as_a_full_run(edited)
