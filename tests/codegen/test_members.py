"""Unused push constants and specialization constants."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from codegen.generate import render_all
from codegen.render import unused_in
from codegen.shader import unused_members
from spec_model import load_library
from spec_model.errors import Position
from spec_model.spec import Constant, PushMember
from tests.codegen.small_project import Project

ROOT = Path(__file__).resolve().parents[2]
ADD = "op_specs/add.yaml"
_REST = "is not used by any shader of add; remove it, or move it to 'let' if only formulas use it."
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
    """A project whose template declares all members, and has a comment with their names."""
    project.edit("templates/glsl/binary.glsl.j2", "void main", f"{_DECLARED}// k, K\nvoid main")
    return project


@pytest.mark.parametrize(
    ("new", "at", "what"),
    [
        ("{alpha: alpha, k: a.rank}", "13:24", "Push constant 'k'"),
        ("{alpha: alpha}\n  constants: {K: a.rank}", "14:15", "Constant 'K'"),
    ],
)
def test_unused_members(declared: Project, new: str, at: str, what: str) -> None:
    declared.load()
    declared.spec("{alpha: alpha}", new)
    declared.rejects(f"{ADD}:{at}: error: {what} {_REST}")


def test_use_in_one_shader_is_sufficient(declared: Project) -> None:
    declared.spec("{alpha: alpha}", "{alpha: alpha, k: a.rank}")
    declared.edit("templates/glsl/binary.glsl.j2", "{{ scale }}", "k")
    render_all(declared.load())


def test_members_of_templates_may_be_unused(declared: Project) -> None:
    declared.edit("templates/glsl/binary.yaml", "  n: numel(y)", "  n: numel(y)\n  m: numel(y)")
    render_all(declared.load())


def test_unused_in_a_part_of_a_library(declared: Project) -> None:
    declared.spec("{alpha: alpha}", "{alpha: alpha, k: a.rank}")
    assert unused_in(render_all(declared.load(), complete=False)) == {"add": frozenset("k")}


def test_defaults_can_be_removed(project: Project) -> None:
    project.edit("templates/glsl/binary.yaml", "grid:", "constants: {K: numel(y)}\ngrid:")
    project.spec("push: {alpha: alpha}", "push: {n: none, alpha: alpha}\n  constants: {K: none}")
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    assert [member.name for member in kernel.push] == ["alpha"]
    assert kernel.constants == ()


def test_only_defaults_can_be_removed(project: Project) -> None:
    project.spec("{alpha: alpha}", "{alpha: alpha, m: none}")
    project.rejects(
        f"{ADD}:13:24: error: 'm' is not one of the defaults that 'none' can remove: n."
    )


def test_templates_of_this_repository_have_no_unused_members() -> None:
    """Including members of sidecars, which loading does not check."""
    whole = load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])
    texts = {each.shader.id: each.text for each in render_all(whole)}
    shaders: dict[tuple[Position, str], list[str]] = defaultdict(list)
    for variant in whole.variants:
        members: list[PushMember | Constant] = [*variant.kernel.push, *variant.kernel.constants]
        for member in members:
            shaders[member.position, member.name].append(texts[variant.id])
    for (position, name), found in shaders.items():
        unused = unused_members(("", frozenset([name]), text) for text in found)
        assert not unused, f"{position}: '{name}' is not used."


def test_axes_and_tensors_of_a_template_can_be_removed(project: Project) -> None:
    more = "axes: {n: {values: [1, 2], of: a.rank}}\ntensors: {scales: {storage: buffer}}\n"
    project.edit("templates/glsl/binary.yaml", "grid:", f"{more}grid:")
    project.rejects(
        "templates/glsl/binary.yaml:5:11: error: 'scales' is not one of the op's tensors: a, b, y."
    )
    removed = "axes: {n: none}\n  tensors: {scales: none}"
    project.spec("push: {alpha: alpha}", f"push: {{alpha: alpha}}\n  {removed}")
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    assert [axis.name for axis in kernel.axes] == ["dtype", "storage"]
    assert [operand.name for operand in kernel.operands] == ["a", "b", "y"]
