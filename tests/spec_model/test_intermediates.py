"""Buffers that other operators compute before a kernel runs."""

from __future__ import annotations

import pytest

from spec_model import SpecError
from spec_model.spec import OperandSource
from spec_model.vocabulary import DType, Storage
from tests.codegen.small_project import Project

ADD = "op_specs/add.yaml"

TOTAL = """\
# y = x
op: test.total
args: {x: tensor, count: int = 1}
outputs: {y: {shape: "[numel(x) // max(count, 1)]", dtype: x.dtype}}
kernel:
  template: binary.glsl.j2
  dtypes: [f32]
  storages: [buffer]
  unsupported_storage: {texture: "Tests need one storage."}
  params: {expr: "0.0"}
reference: "x.reshape(-1)[: x.size // count]"
tests: [{x: [3]}]
"""


@pytest.fixture
def partial(project: Project) -> Project:
    """A project whose op adds an intermediate."""
    project.write("op_specs/total.yaml", TOTAL)
    project.edit("templates/glsl/binary.glsl.j2", "t.a.type", "t.y.type")
    project.edit("templates/glsl/binary.yaml", "test_shapes:\n  - {a: [7], b: [7]}\n", "")
    project.edit(
        ADD,
        "  push: {alpha: alpha}\n",
        "  push: {alpha: alpha}\n"
        "  intermediates: {totals: {of: 'test.total(a, cores)', dtype: f32}}\n",
    )
    return project


def test_an_intermediate_is_bound_last_as_a_buffer(partial: Project) -> None:
    library = partial.load()
    operand = library.ops["aten.add.Tensor"].kernels[0].operands[-1]
    assert (operand.name, operand.source) == ("totals", OperandSource.INTERMEDIATE)
    assert operand.pack is not None and operand.pack.op == "test.total"
    for variant in library.ops["aten.add.Tensor"].variants:
        bound = variant.tensors[-1]
        assert (bound.dtype, bound.storage, bound.binding) == (DType.F32, Storage.BUFFER, 3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("totals:", "a:", "Intermediate 'a' has the name of an argument or output."),
        ("of: 'test.total(a, cores)', ", "", "Key 'of' is missing from intermediate 'totals'."),
        ("test.total(a, cores)", "a", "'of' must be a call of an operator, such as "),
        ("dtype: f32}}", "dtype: f64}}", "DType 'f64' is not one of: "),
        ("test.total(a, cores)", "test.none(a)", "Packing op 'test.none' is not one of: "),
        (
            "test.total(a, cores)",
            "aten.add.Tensor(a, b)",
            "Packing for aten.add.Tensor calls aten.add.Tensor",
        ),
        ("test.total(a, cores)", "test.total(z)", "Name 'z' is unknown here"),
    ],
)
def test_messages(partial: Project, old: str, new: str, message: str) -> None:
    partial.edit(ADD, old, new)
    with pytest.raises(SpecError) as error:
        partial.load()
    assert message in str(error.value)
