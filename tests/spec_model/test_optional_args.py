"""Optional arguments of few kernels: other kernels compute only calls without them."""

from __future__ import annotations

import pytest

from spec_model.expr.types import TensorType
from spec_model.vocabulary import DType, Storage
from tests.codegen.small_project import Project

BEFORE = """\
  alpha: float = 1.0
outputs:
  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}
kernel:
  template: binary.glsl.j2
  dtypes: [f32, f16]
  params: {expr: a + b * alpha}
  push: {alpha: alpha}
"""
AFTER = """\
  alpha: float = 1.0
  c: tensor?
outputs:
  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}
kernels:
  - name: add_third
    template: binary.glsl.j2
    when: a.rank > 0
    optional_args: [c, unknown]
    dtypes: [f32]
    storages: [buffer]
    unsupported_storage: {texture: "Tests need one storage."}
    params: {expr: a + b * alpha}
    push: {alpha: alpha}
  - name: add_rows
    template: binary.glsl.j2
    when: a.rank == 2 or b.rank == 2
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
"""


@pytest.fixture
def third(project: Project) -> Project:
    """A project whose op has an argument that one of three kernels supports."""
    project.spec(BEFORE, AFTER)
    return project


def bound(project: Project) -> dict[str, list[str]]:
    """The bound tensors by kernel."""
    (op,) = project.load().ops.values()
    return {kernel.name: [operand.name for operand in kernel.operands] for kernel in op.kernels}


def test_other_kernels_do_not_bind_it(third: Project) -> None:
    assert bound(third) == {
        "add_third": ["a", "b", "c", "y"],
        "add_rows": ["a", "b", "y"],
        "add": ["a", "b", "y"],
    }


@pytest.mark.parametrize(
    ("rank", "present", "names"),
    [
        (1, False, ["add_third", "add"]),
        (2, False, ["add_third", "add_rows", "add"]),
        (1, True, ["add_third"]),
        (2, True, ["add_third"]),
        (0, True, []),
    ],
)
def test_other_kernels_compute_calls_without_it(
    third: Project, rank: int, present: bool, names: list[str]
) -> None:
    (op,) = third.load().ops.values()
    x = TensorType((3,) * rank, DType.F32, Storage.BUFFER)
    args = {"a": x, "b": x, "c": x if present else None}
    variants = [v for v in op.variants if (v.dtype, v.storage) == (DType.F32, Storage.BUFFER)]
    assert [v.kernel.name for v in variants if op.computes(v, args)] == names


def test_an_argument_that_no_kernel_lists_is_bound_by_all(third: Project) -> None:
    third.spec("    optional_args: [c, unknown]\n", "")
    assert all("c" in names for names in bound(third).values())
