"""`test_only` kernels: only in libraries of tests, and never preferred."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spec_model.errors import SpecError
from spec_model.expr.types import Kind, Literal
from tests.codegen.small_project import Project
from tests.codegen.test_output import generate, run

KERNEL = """\
kernels:
  - name: add_plainly
    template: binary.glsl.j2
    test_only: true
    dtypes: [f32]
    storages: [buffer]
    unsupported_storage: {texture: "Tests need one storage."}
    params: {expr: a + b * alpha}
    push: {alpha: alpha}
  - name: add
    template: binary.glsl.j2
    dtypes: [f32, f16]
    params: {expr: a + b * alpha}
    push: {alpha: alpha}
reference"""


@pytest.fixture
def both(project: Project) -> Project:
    """A project whose op also has a test-only kernel."""
    project.spec(
        "kernel:\n  template: binary.glsl.j2\n  dtypes: [f32, f16]\n"
        "  params: {expr: a + b * alpha}\n  push: {alpha: alpha}\nreference",
        KERNEL,
    )
    return project


def variants(out: Path) -> dict[str, int]:
    """The keys in the manifest by id."""
    manifest = json.loads((out / "manifest.json").read_text())
    return {row["id"]: row["key"] for row in manifest["variants"]}


def test_libraries_do_not_contain_them(both: Project) -> None:
    names = variants(generate(both))
    assert len(names) == 6
    assert not any("plainly" in name for name in names)


def test_test_libraries_contain_all_kernels_of_the_operator(both: Project) -> None:
    shipped = variants(generate(both))
    tested = variants(generate(both, "tests", "--test-kernels"))
    assert tested.keys() - shipped.keys() == {"add_plainly_f32_buffer"}
    assert {name: tested[name] for name in shipped} == shipped


def test_test_libraries_contain_no_other_operator(project: Project) -> None:
    assert variants(generate(project, "tests", "--test-kernels")) == {}


def test_they_are_never_preferred(both: Project) -> None:
    (op,) = both.load().ops.values()
    assert op.kernels[0].prefer == Literal(Kind.BOOL, False)


def test_selectors_reject_them(both: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(both, "select", "--ops", "add_plainly") == 1
    assert "add_plainly" in capsys.readouterr().err


def test_the_last_kernel_cannot_be_test_only(both: Project) -> None:
    both.spec("    test_only: true\n", "")
    both.spec("  - name: add\n", "  - name: add\n    test_only: true\n")
    with pytest.raises(SpecError, match="is the last"):
        both.load()
