"""spirloom new-op: scaffolds that build, and errors that write nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from spirloom.casegen.arrays import make_inputs, reference_results
from spirloom.casegen.runs import runs_of
from spirloom.cli import main
from spirloom.new_op.scaffold import scaffold, write
from spirloom.new_op.target import find_target

from codegen.generate import render_all
from codegen.interface_comments import check_interfaces
from codegen.render import Renderer
from spec_model import Library, Op, TestCase, load_library
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES
from tests.frontend import reference_run
from tests.sample import varied

OPS = reference_run.OPS


@pytest.fixture(scope="module")
def own() -> Library:
    return load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_of(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("name", varied(list(OPS), 4))
def test_a_copy_of_each_operator_is_valid_alone(name: str, tmp_path: Path) -> None:
    """In an empty directory, with a template of its own or not: its shaders render, its kernel
    computes all of its cases, and its tests expect what those of the operator do.
    """
    for own_template in (False, True):
        folder = tmp_path / str(own_template)
        folder.mkdir()
        target = find_target("test.made", name, None, None, folder)
        write(scaffold(target, own_template).files)
        templates = [path for path in [folder / "templates"] if path.is_dir()]
        made = load_library([folder / "op_specs"], [BUILTIN_TEMPLATES, *templates], folder)
        check_interfaces(made)
        (op,) = made.ops.values()
        # arguments that its most general kernel does not support
        left_out = {"rms_weight", "rms_eps"} if name == "aten.linear" else set()
        assert [arg.name for arg in op.args] == [
            arg.name for arg in OPS[name].args if arg.name not in left_out
        ]
        render = Renderer(made.templates).render
        assert all(render(variant).text for variant in (made.variants[0], made.variants[-1]))
        runs = list(runs_of(op))
    for run in runs[:2]:
        inputs = make_inputs(run)
        original = dataclasses.replace(run, op=OPS[name], test=_completed(run.test, OPS[name]))
        for ours, theirs in zip(
            reference_results(run, inputs), reference_results(original, inputs), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


def _completed(test: TestCase, op: Op) -> TestCase:
    """The case with the arguments that the copy omits, absent."""
    return dataclasses.replace(test, args={arg.name: test.args.get(arg.name) for arg in op.args})


def test_references_need_no_other_module(project: Path) -> None:
    assert main(["new-op", "pad", "--like", "aten.pad"]) == 1
    assert main(["new-op", "edged", "--like", "aten.pad"]) == 0
    text = (project / "op_specs/edged.py").read_text()
    assert "def pad_(" in text  # `pad` is an argument
    assert "return pad_(x, pad, mode, value)" in text
    assert "# TODO: this computes aten.pad" in text


def test_templates_with_params_are_shared(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new-op", "snake", "--like", "aten.celu"]) == 0
    assert files_of(project) == [
        "op_specs/snake.py",
        "op_specs/snake.yaml",
        "op_specs/spec.schema.json",
    ]
    printed = capsys.readouterr().out
    assert printed.startswith("custom.snake, from aten.celu:\n  op_specs/snake.yaml: 4 TODO\n")
    assert "It shares the template unary.glsl.j2" in printed


@pytest.mark.parametrize(
    ("option", "sidecar"),
    [([], "templates/glsl/elementwise/binary.yaml"), (["--own-template"], "templates/most.yaml")],
)
def test_arguments_of_shared_templates(project: Path, option: list[str], sidecar: str) -> None:
    assert main(["new-op", "most", "--like", "maximum", *option]) == 0
    lines = (project / "op_specs/most.yaml").read_text().splitlines()
    assert lines[0] == "# yaml-language-server: $schema=spec.schema.json"
    assert lines[3] == f"# {sidecar} has: a: tensor, b: tensor"


@pytest.mark.parametrize("like", ["relu", "add", "softmax"])
def test_added_arguments(project: Path, own: Library, like: str) -> None:
    added = ["slope: float = 0.5", "steps: int[2] = 3", "alpha: number=2.0", "way: str = up"]
    options = [word for text in added for word in ("--arg", text)]
    assert main(["new-op", "made", "--like", like, *options]) == 0
    templates = [BUILTIN_TEMPLATES, *(path for path in [project / "templates"] if path.is_dir())]
    made = load_library([BUILTIN_SPECS, project / "op_specs"], templates, project)
    render_all(made)
    args = {arg.name: arg.default for arg in made.ops["custom.made"].args}
    old = next(op for op in own.ops.values() if op.short_name == like)
    assert args == {arg.name: arg.default for arg in old.args} | {
        "slope": 0.5,
        "steps": (3, 3),
        "alpha": 2.0,
        "way": "up",
    }
    assert "slope: float," in (project / "op_specs/made.py").read_text()


def test_templates_of_one_operator_are_copied(project: Path) -> None:
    assert main(["new-op", "mine.stack", "--like", "cat", "--template-dir", "kernels"]) == 0
    assert files_of(project)[0] == "kernels/stack.glsl.j2"
    text = (project / "kernels/stack.glsl.j2").read_text()
    assert "TODO: this is a copy of cat.glsl.j2, which builds unchanged." in text
    assert "op: mine.stack" in (project / "op_specs/stack.yaml").read_text()


def test_copies_of_project_operators(project: Path) -> None:
    assert main(["new-op", "first", "--like", "softmax", "--own-template"]) == 0
    assert main(["new-op", "second", "--like", "custom.first", "--own-template"]) == 0
    assert (project / "op_specs/second.yaml").read_text().count("TODO") == 4


def test_directories_in_the_repository() -> None:
    target = find_target("snake", "relu", None, None, BUILTIN_SPECS)
    assert (target.op, target.spec) == ("spirloom.snake", BUILTIN_SPECS / "elementwise/snake.yaml")
    assert target.template == BUILTIN_TEMPLATES / "elementwise/snake.glsl.j2"
    made = scaffold(target, own_template=False)
    assert target.schema.exists() != (target.schema in made.files)  # absent in the wheel
    line = "# yaml-language-server: $schema=../../schema/spec.schema.json\n"
    assert made.files[target.spec].startswith(line)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["snake", "--like", "relo"],
         "--like: unknown operator 'relo'. Similar names: relu, "),
        (["snake", "--like", "zzzzzz"],
         "--like: unknown operator 'zzzzzz'. `spirloom ops` lists all operators."),
        (["relu", "--like", "gelu"],
         "The name 'relu' is already used: aten.relu, "),
        (["aten.relu6.relu", "--like", "nothing.at.all"], "--like: unknown operator"),
        (["Snake", "--like", "relu"], "'Snake' is not an operator name"),
        (["snake", "--like", "relu", "--spec-dir", "file"], "Cannot write"),
        (["snake", "--like", "relu", "--arg", "k: flot = 1.0"],
         "--arg 'k: flot = 1.0': Argument type 'flot' is not one of: tensor, "),
        (["snake", "--like", "relu", "--arg", "k: int"],
         "--arg 'k: int': A new argument requires a default, such as 'slope: float = 0.5', "),
    ],
)  # fmt: skip
def test_errors(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (project / "file").touch()
    assert main(["new-op", *arguments]) == 1
    assert f"spirloom: error: {message}" in capsys.readouterr().err
    assert files_of(project) == ["file"]


def test_existing_files_are_kept(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = project / "op_specs/snake.py"
    reference.parent.mkdir(parents=True)
    reference.write_text("mine")
    assert main(["new-op", "snake", "--like", "relu"]) == 1
    assert "snake.py already exists. No file was written." in capsys.readouterr().err
    assert files_of(project) == ["op_specs/snake.py"]
    assert reference.read_text() == "mine"


def test_the_most_general_kernel_is_copied(own: Library, project: Path) -> None:
    files = scaffold(find_target("test.made", "cumsum", None, None, project), False).files
    (text,) = (text for path, text in files.items() if path.suffix == ".yaml")
    assert "start: TYPE(0)" in text
    assert "cumsum_i32acc" not in text and "[i8, u8, b8]" not in text


def test_cases_of_a_sweep_are_kept_one_by_one(project: Path) -> None:
    """The general kernel of `sort` does not compute rows without elements."""
    assert main(["new-op", "made", "--like", "aten.sort"]) == 0
    text = (project / "op_specs/made.yaml").read_text()
    assert "  - {x: [2, 1, 3], dim: 1}\n" in text
    assert "[2, 0, 3]" not in text


def test_packing_operators_of_other_libraries(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A project's kernel may use Spirloom's packing operators, which its library does not have."""
    assert main(["new-op", "custom.w8", "--like", "linear_w8"]) == 0
    assert main(["new-op", "custom.other", "--like", "relu"]) == 0
    made = load_library([project / "op_specs"], [BUILTIN_TEMPLATES, project / "templates"], project)
    assert list(made.ops) == ["custom.other", "custom.w8"]
    packs = {o.pack.op for kernel in made.kernels for o in kernel.operands if o.pack}
    assert packs == {"spirloom.pack_quantized"}
    assert len(render_all(made)) == len(made.variants)
