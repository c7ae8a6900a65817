"""Modules that kernels with other expressions share (codegen/shared_modules.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.generate import render_all
from codegen.manifest import variant_row
from codegen.select.selection import Selection, reduced
from codegen.shared_modules import SELECTOR, with_shared_modules
from spec_model import Library
from spec_model.expr.evaluation import evaluate
from spec_model.spec import Kernel
from tests.codegen.small_project import SIDECAR, SPEC, Project

TEMPLATE = """\
{% for constant in constants %}
layout(constant_id = {{ constant.id }}) const {{ constant.type }} {{ constant.name }} = 0;
{% endfor %}
{{ t.y.type }} combine({{ t.a.type }} a, {{ t.b.type }} b) {
{% for each in alternatives %}
  if (NUMBER == {{ each.number }}) return {{ each.expr }};
{% endfor %}
}
""".replace("NUMBER", '{{ "ALTERNATIVE" if alternatives | length > 1 else 0 }}')


def spec(name: str, expr: str, more: str = "") -> str:
    """An operator of the template."""
    text = SPEC.replace("aten.add.Tensor", f"aten.{name}").replace("a + b * alpha", expr)
    text = text.replace("  push: {alpha: alpha}\n", more).replace("  alpha: float = 1.0\n", "")
    return text.replace("a + alpha * b", expr).replace(", alpha: 0.5", "")


@pytest.fixture
def shared(project: Project) -> Project:
    """A project of three operators whose template has alternatives."""
    project.write("templates/glsl/binary.yaml", f"{SIDECAR}alternatives: [expr]\n")
    project.write("templates/glsl/binary.glsl.j2", TEMPLATE)
    (project.root / "op_specs/add.yaml").unlink()
    for name, expr in (("plus", "a + b"), ("minus", "a - b"), ("times", "a * b")):
        project.write(f"op_specs/{name}.yaml", spec(name, expr))
    return project


def glsl(library: Library) -> dict[str, str]:
    """The GLSL by variant, of buffers and fp32."""
    shaders = render_all(library, complete=False)
    return {s.shader.id: s.text for s in shaders if s.shader.id.endswith("f32_buffer")}


def numbers(library: Library) -> dict[str, int]:
    """The values of the selecting constant by kernel."""

    def value(kernel: Kernel) -> int | None:
        found = [evaluate(c.value, {}) for c in kernel.constants if c.name == SELECTOR]
        return int(str(found[0])) if found else None

    values = {kernel.name: value(kernel) for kernel in library.kernels}
    return {name: number for name, number in values.items() if number is not None}


def test_kernels_with_other_expressions_have_equal_glsl(shared: Project) -> None:
    library = with_shared_modules(shared.load())
    texts = glsl(library)
    assert len(texts) == 3
    (text,) = set(texts.values())
    assert numbers(library) == {"minus": 0, "plus": 1, "times": 2}
    for name, expr in (("minus", "a - b"), ("plus", "a + b"), ("times", "a * b")):
        case = text.index(f"ALTERNATIVE == {numbers(library)[name]})")
        assert (
            text[case:].partition("return")[2].strip().partition("\n")[2].lstrip().startswith(expr)
        )
    rows = [variant_row(variant)["constants"] for variant in library.variants]
    assert all(row[0]["name"] == SELECTOR for row in rows if isinstance(row, list))


def test_without_sharing_a_kernel_has_its_own_function(shared: Project) -> None:
    texts = glsl(shared.load())
    assert len(set(texts.values())) == 3
    assert all(SELECTOR not in text for text in texts.values())


@pytest.mark.parametrize(
    "difference",
    [
        "  push: {rank: a.rank}\n",
        "  constants: {RANK: a.rank}\n",
        "  workgroup: [32, 1, 1]\n",
        "  tensors: {b: {dtype: f32}}\n",
    ],
)
def test_kernels_with_other_interfaces_do_not_share(shared: Project, difference: str) -> None:
    shared.write("op_specs/minus.yaml", spec("minus", "a - b", difference))
    library = with_shared_modules(shared.load())
    texts = glsl(library)
    assert texts["plus_f32_buffer"] == texts["times_f32_buffer"] != texts["minus_f32_buffer"]
    assert set(numbers(library)) == {"plus", "times"}


def test_equal_expressions_have_one_number(shared: Project) -> None:
    shared.write("op_specs/sum.yaml", spec("sum", "a + b"))
    found = numbers(with_shared_modules(shared.load()))
    assert found["sum"] == found["plus"] and max(found.values()) == 2


def test_a_dtype_of_one_kernel_is_not_shared(shared: Project) -> None:
    ints = spec("minus", "a - b").replace("[f32, f16]", "[f32, i32]")
    shared.write("op_specs/minus.yaml", ints)
    library = with_shared_modules(shared.load())
    texts = {s.shader.id: s.text for s in render_all(library, complete=False)}
    assert texts["plus_f32_buffer"] == texts["minus_f32_buffer"]
    assert "a - b" not in texts["plus_f16_buffer"] and "a * b" in texts["plus_f16_buffer"]
    assert "a + b" not in texts["minus_i32_buffer"]


def test_a_selection_has_only_its_own_functions(shared: Project) -> None:
    library = shared.load()
    selection = Selection()
    for op in ("aten.plus", "aten.times"):
        selection.add(library.ops[op], library.ops[op].variants)
    texts = glsl(with_shared_modules(reduced(library, selection)))
    (text,) = set(texts.values())
    assert "a - b" not in text and "a + b" in text and "a * b" in text


def test_a_module_has_at_most_12_kernels(shared: Project) -> None:
    for k in range(20):
        shared.write(f"op_specs/op{k:02}.yaml", spec(f"op{k:02}", f"a * {k}.0 + b"))
    library = with_shared_modules(shared.load())
    assert set(numbers(library).values()) == set(range(12))
    assert len(set(glsl(library).values())) == 2


def test_unknown_params(shared: Project) -> None:
    shared.write("templates/glsl/binary.yaml", f"{SIDECAR}alternatives: [expr, scales]\n")
    message = "'scales' is not a param; the template declares: expr, scale."
    with pytest.raises(Exception, match=rf"^templates/glsl/binary\.yaml:7:22: error: {message}"):
        shared.load()


def test_shared_modules_of_the_repository() -> None:
    """Comparisons of numbers share a module; their results do not depend on a library's others."""
    from spec_model import load_library

    root = Path(__file__).resolve().parents[2]
    library = with_shared_modules(load_library([root / "op_specs"], [root / "templates/glsl"]))
    found = {v.id: v.alternatives for v in library.variants}
    assert found["eq_f32_buffer"] == found["lt_f32_buffer"] != {}
    assert found["add_f32_buffer"] == found["sub_f32_buffer"] != {}
    assert found["masked_fill_f32_buffer"] == {}
