"""spirloom-run --dev-templates: an edited template runs without a build."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tools.programs import Program, ReluModel

ROOT = Path(__file__).resolve().parents[2]
BUILT = (ROOT / "templates/glsl/elementwise/unary.glsl.j2").read_text(encoding="utf-8")
RESULT = "y[lane] = apply(x[lane]);"


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of relu's template below the working directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine/unary.glsl.j2"
    path.parent.mkdir()
    path.write_text(BUILT, encoding="utf-8")
    shutil.copy(ROOT / "templates/glsl/elementwise/unary.yaml", path.parent)
    return path


def edit(template: Path, result: str) -> None:
    assert BUILT.count(RESULT) == 1
    template.write_text(BUILT.replace(RESULT, result), encoding="utf-8")


def test_edits_take_effect(spirloom_run: Program, relu_model: ReluModel, template: Path) -> None:
    options = ("--dev-templates", template.parent)
    assert relu_model.run(spirloom_run, *options) == [0, 0, 0, 1, 2]
    edit(template, "y[lane] = -apply(x[lane]);")
    assert relu_model.run(spirloom_run, *options) == [0, 0, 0, -1, -2]
    edit(template, "y[lane] = 3.0 * apply(x[lane]);")
    assert relu_model.run(spirloom_run, *options) == [0, 0, 0, 3, 6]
    assert relu_model.run(spirloom_run) == [0, 0, 0, 1, 2]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ("y[lane] = nothing;", " error: 'nothing' : undeclared identifier   (relu_f32_buffer"),
        ("y[lane] = {{ nothing }};", "53: error: 'nothing' is undefined"),
    ],
)
def test_errors_are_reported_at_the_line(
    spirloom_run: Program, relu_model: ReluModel, template: Path, result: str, error: str
) -> None:
    edit(template, result)
    line = BUILT[: BUILT.index(RESULT)].count("\n") + 1
    message = relu_model.rejected(spirloom_run, "--dev-templates", template.parent)
    assert f"mine/unary.glsl.j2:{line}:{error}" in message


def test_template_without_defaults(
    spirloom_run: Program, relu_model: ReluModel, template: Path
) -> None:
    template.with_name("unary.yaml").unlink()
    message = relu_model.rejected(spirloom_run, "--dev-templates", template.parent)
    assert f"'{template}' has no YAML file with its defaults. Copy" in message


def test_missing_directory(spirloom_run: Program, relu_model: ReluModel, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    message = relu_model.rejected(spirloom_run, "--dev-templates", missing)
    assert f"The template directory '{missing}' cannot be found" in message
