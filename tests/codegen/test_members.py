"""Push constants and constants that a spec declares for nothing."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from codegen.errors import Position
from codegen.generate import render_all
from codegen.library import load_library
from codegen.members import unused_members
from codegen.render import unused_in
from codegen.spec import Constant, PushMember
from tests.codegen.small_project import Project

ROOT = Path(__file__).resolve().parents[2]
ADD = "op_specs/add.yaml"
_REST = "is used by no shader of add; remove it, or name what formulas alone use under 'let'."
_DECLARED = """\
{% if push %}
layout(push_constant, std430) uniform PushBlock {
{% for member in push %}
  {{ member.type }} {{ member.name }};
{% endfor %}
};
{% endif %}
{% for constant in constants %}
layout(constant_id = {{ constant.id }}) const {{ constant.type }} {{ constant.name }} = 1;
{% endfor %}
"""


@pytest.fixture
def declared(project: Project) -> Project:
    """The project with a template that declares what there is, and a comment about it."""
    project.edit("templates/glsl/binary.glsl.j2", "void main", f"{_DECLARED}// k, K\nvoid main")
    return project


@pytest.mark.parametrize(
    ("new", "at", "what"),
    [
        ("{alpha: alpha, k: a.rank}", "13:24", "Push constant 'k'"),
        ("{alpha: alpha}\n  constants: {K: a.rank}", "14:15", "Constant 'K'"),
    ],
)
def test_what_no_shader_uses(declared: Project, new: str, at: str, what: str) -> None:
    declared.load()
    declared.spec("{alpha: alpha}", new)
    declared.rejects(f"{ADD}:{at}: error: {what} {_REST}")


def test_one_shader_that_uses_it_is_enough(declared: Project) -> None:
    declared.spec("{alpha: alpha}", "{alpha: alpha, k: a.rank}")
    declared.edit("templates/glsl/binary.glsl.j2", "{{ scale }}", "k")
    render_all(declared.load())


def test_those_of_a_template_are_for_whom_they_help(declared: Project) -> None:
    declared.edit("templates/glsl/binary.yaml", "  n: numel(y)", "  n: numel(y)\n  m: numel(y)")
    render_all(declared.load())


def test_unused_in_a_part_of_a_library(declared: Project) -> None:
    declared.spec("{alpha: alpha}", "{alpha: alpha, k: a.rank}")
    assert unused_in(render_all(declared.load(), whole=False)) == {"add": frozenset("k")}


def test_defaults_can_be_left_out(project: Project) -> None:
    project.edit("templates/glsl/binary.yaml", "grid:", "constants: {K: numel(y)}\ngrid:")
    project.spec("push: {alpha: alpha}", "push: {n: none, alpha: alpha}\n  constants: {K: none}")
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    assert [member.name for member in kernel.push] == ["alpha"]
    assert kernel.constants == ()


def test_what_is_no_default_cannot_be_left_out(project: Project) -> None:
    project.spec("{alpha: alpha}", "{alpha: alpha, m: none}")
    project.rejects(f"{ADD}:13:24: error: 'm' is not among the defaults that can be left out: n.")


def test_templates_of_this_repository_declare_nothing_for_nothing() -> None:
    """Of those beside templates too, which a spec alone is not told of."""
    whole = load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])
    texts = {each.shader.id: each.text for each in render_all(whole)}
    shaders: dict[tuple[Position, str], list[str]] = defaultdict(list)
    for variant in whole.variants:
        members: list[PushMember | Constant] = [*variant.kernel.push, *variant.kernel.constants]
        for member in members:
            shaders[member.position, member.name].append(texts[variant.id])
    for (position, name), found in shaders.items():
        unused = unused_members(("", frozenset([name]), text) for text in found)
        assert not unused, f"{position}: '{name}' is used nowhere."


def test_axes_and_tensors_of_a_template_can_be_left_out(project: Project) -> None:
    more = "axes: {n: {values: [1, 2], of: a.rank}}\ntensors: {scales: {storage: buffer}}\n"
    project.edit("templates/glsl/binary.yaml", "grid:", f"{more}grid:")
    project.rejects(
        "templates/glsl/binary.yaml:5:11: error: 'scales' is not one of the op's tensors: a, b, y."
    )
    left_out = "axes: {n: none}\n  tensors: {scales: none}"
    project.spec("push: {alpha: alpha}", f"push: {{alpha: alpha}}\n  {left_out}")
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    assert [axis.name for axis in kernel.axes] == ["dtype", "storage"]
    assert [operand.name for operand in kernel.operands] == ["a", "b", "y"]
