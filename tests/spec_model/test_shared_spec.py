"""The shared spec of a template: args, lets, checks and outputs of all its ops."""

from __future__ import annotations

import pytest

from spec_model.spec import Check
from spec_model.traits import Trait
from tests.codegen.small_project import Project

OUTPUTS = """\
outputs:
  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}
"""
SHARED = """\
spec:
  args: {a: tensor, b: tensor}
  checks:
    - a.rank <= 4
  outputs:
    y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}
params: {expr: null, scale: 2}
"""


@pytest.fixture
def shared(project: Project) -> Project:
    """A project with a shared spec in the sidecar."""
    project.spec("  a: tensor\n  b: tensor\n", "")
    project.spec(OUTPUTS, "")
    project.edit("templates/glsl/binary.yaml", "params: {expr: null, scale: 2}\n", SHARED)
    return project


def test_own_args_come_after_the_shared_ones(shared: Project) -> None:
    op = shared.load().ops["aten.add.Tensor"]
    assert [arg.name for arg in op.args] == ["a", "b", "alpha"]
    assert [output.name for output in op.outputs] == ["y"]


def test_checks_of_both_apply(shared: Project) -> None:
    shared.spec("kernel:", "checks:\n  - a.rank >= 1\nkernel:")
    steps = shared.load().ops["aten.add.Tensor"].steps
    texts = [step.text for step in steps if isinstance(step, Check)]
    assert texts == ["a.rank <= 4", "a.rank >= 1"]


def test_traits_of_both_apply(shared: Project) -> None:
    shared.edit("templates/glsl/binary.yaml", "  args:", "  traits: [elementwise]\n  args:")
    shared.spec("kernel:", "traits: [may_overflow]\nkernel:")
    op = shared.load().ops["aten.add.Tensor"]
    assert list(op.traits) == [Trait.ELEMENTWISE, Trait.MAY_OVERFLOW]


def test_a_spec_overrides_the_shared_spec(shared: Project) -> None:
    shared.spec("kernel:", "outputs: {y: {dtype: f32}}\nkernel:")
    (output,) = shared.load().ops["aten.add.Tensor"].outputs
    assert output.position.file == "op_specs/add.yaml"


def test_errors_are_reported_in_the_sidecar(shared: Project) -> None:
    shared.edit("templates/glsl/binary.yaml", "a.rank <= 4", "a.rnk <= 4")
    shared.rejects(
        "templates/glsl/binary.yaml:4:7: error: Attribute 'rnk' is unknown for tensor; known are: "
        "shape, rank, dtype, storage."
    )


def test_unknown_shared_keys(shared: Project) -> None:
    shared.edit("templates/glsl/binary.yaml", "  args:", "  arg:")
    shared.rejects(
        "templates/glsl/binary.yaml:2:3: error: Key 'arg' is unknown in the shared spec of a "
        "template; known keys are: traits, args, let, checks, outputs, domain."
    )


def test_defaults_extend_those_of_another_template(project: Project) -> None:
    project.write("templates/glsl/lib/map.glsl.j2", "")
    project.write("templates/glsl/lib/map.yaml", "push: {n: numel(y)}\ngrid: numel(y)\n")
    own = "push:\n  n: numel(y)\ngrid: numel(y)\n"
    project.edit("templates/glsl/binary.yaml", own, "extends: lib/map.glsl.j2\n")
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    assert [member.name for member in kernel.push] == ["n", "alpha"]
    assert kernel.push[0].position.file == "templates/glsl/lib/map.yaml"


def test_defaults_that_extend_nothing(project: Project) -> None:
    project.edit("templates/glsl/binary.yaml", "params:", "extends: binary.glsl.j2\nparams:")
    project.rejects(
        "templates/glsl/binary.yaml:1:10: error: Template 'binary.glsl.j2' has no defaults to "
        "extend."
    )


def test_args_that_the_spec_repeats_are_in_its_order(shared: Project) -> None:
    """Needed for PyTorch's order, if an arg of the op is between args of the template."""
    shared.spec("  alpha: float = 1.0\n", "  alpha: float = 1.0\n  b: tensor<f32>\n")
    op = shared.load().ops["aten.add.Tensor"]
    assert [arg.name for arg in op.args] == ["a", "alpha", "b"]
    assert [arg.index for arg in op.args] == [0, 1, 2]
