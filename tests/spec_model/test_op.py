"""Ops: shape inference, kernel selection, references."""

from __future__ import annotations

import numpy as np
import pytest

from spec_model import DType, EvalError, SpecError, Storage, TensorCase, TensorType
from tests.codegen.small_project import Project

F32, F16 = DType.F32, DType.F16


def tensor(*shape: int, dtype: DType = F32) -> TensorType:
    """A tensor's type."""
    return TensorType(shape, dtype)


def test_the_comment_for_editors_is_not_the_formula(project: Project) -> None:
    line = "# yaml-language-server: $schema=spec.schema.json\n"
    project.spec("# y = a + alpha * b\n", f"{line}# y = a + alpha * b\n")
    assert project.load().ops["aten.add.Tensor"].formula == "y = a + alpha * b"


def test_a_kernel_without_dtypes_has_floats(project: Project) -> None:
    project.spec("  dtypes: [f32, f16]\n", "")
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    assert kernel.axes[0].values == (F32, F16)


@pytest.mark.parametrize(
    ("keys", "storages"),
    [
        ("", "buffer texture3d texture2d"),
        ("unsupported_storage: {texture: a test}", "buffer"),
        ("unsupported_storage: {texture2d: a test}", "buffer texture3d"),
        ("unsupported_storage: {buffer: a test}", "texture3d texture2d"),
    ],
)
def test_a_kernel_has_all_storages_without_a_reason(
    project: Project, keys: str, storages: str
) -> None:
    project.spec("[f32, f16]", f"[f32, f16]\n  {keys}")
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    values = {axis.name: axis.values for axis in kernel.axes}
    assert [str(value) for value in values["storage"]] == storages.split()


def test_infer(project: Project) -> None:
    op = project.load().ops["aten.add.Tensor"]
    assert op.infer({"a": tensor(2, 1, dtype=F16), "b": tensor(5, dtype=F16)}) == [
        tensor(2, 5, dtype=F16)
    ]


@pytest.mark.parametrize(
    ("words", "dtypes"),
    [
        ("[floats]", "f32 f16"),
        ("[ints, b8]", "i32 i8 u8 b8"),
        ("[numbers]", "f32 f16 i32 i8 u8"),
        ("[all]", "f32 f16 i32 i8 u8 b8"),
        ("[i8, floats]", "i8 f32 f16"),
    ],
)
def test_groups_of_dtypes(project: Project, words: str, dtypes: str) -> None:
    project.spec("[f32, f16]", words)
    (kernel,) = project.load().ops["aten.add.Tensor"].kernels
    assert kernel.axes[0].values == tuple(map(DType, dtypes.split()))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"a": tensor(2)}, "Argument 'b' of aten.add.Tensor is missing."),
        (
            {"a": tensor(2), "b": tensor(2), "c": 1},
            "aten.add.Tensor has no argument 'c'; its arguments are: a, b, alpha.",
        ),
        (
            {"a": tensor(2), "b": 3},
            "Argument 'b' of aten.add.Tensor is 3; expected tensor.",
        ),
        (
            {"a": tensor(2), "b": tensor(2), "alpha": True},
            "Argument 'alpha' of aten.add.Tensor is True; expected float.",
        ),
        ({"a": tensor(2), "b": tensor(2, dtype=F16)}, "DType of b (f16) is not f32."),
        ({"a": tensor(2), "b": tensor(3)}, "Shapes [2] and [3] do not broadcast."),
    ],
)
def test_invalid_calls(project: Project, args: dict[str, object], message: str) -> None:
    op = project.load().ops["aten.add.Tensor"]
    with pytest.raises(EvalError) as error:
        op.infer(args)
    assert str(error.value) == message


def test_checks_name_both_values(project: Project) -> None:
    project.spec("outputs:", "let: {n: a.rank}\nchecks:\n  - n < 3\n  - alpha > 0\noutputs:")
    op = project.load().ops["aten.add.Tensor"]
    with pytest.raises(EvalError, match=r"^n < 3 does not hold \(4 vs 3\)\.$"):
        op.infer({"a": tensor(1, 1, 1, 1), "b": tensor(1)})
    with pytest.raises(EvalError, match=r"^alpha > 0 does not hold\.$"):
        op.infer({"a": tensor(1), "b": tensor(1), "alpha": -1.0})


def test_a_check_precedes_the_lets_that_rely_on_it(project: Project) -> None:
    project.spec(
        "outputs:", "let: {n: 'a.shape[3]'}\nchecks:\n  - a.rank > 3\n  - n >= 0\noutputs:"
    )
    op = project.load().ops["aten.add.Tensor"]
    with pytest.raises(EvalError, match=r"^a\.rank > 3 does not hold"):
        op.infer({"a": tensor(1), "b": tensor(1)})


def test_select_returns_the_first_matching_kernel(project: Project) -> None:
    text = (project.root / "op_specs/add.yaml").read_text()
    kernel = text[text.index("  template") : text.index("reference:")]
    second = kernel.replace("  template", "  - template").replace("\n  ", "\n    ")
    first = second.replace(
        "- template", "- name: add_same\n    when: a.shape == b.shape\n    template"
    )
    first = first.replace("[f32, f16]", "[f32]")
    project.write(
        "op_specs/add.yaml", text.replace("kernel:\n" + kernel, f"kernels:\n{first}{second}")
    )
    op = project.load().ops["aten.add.Tensor"]

    def chosen(storage: str, dtype: DType, *shape: int) -> str:
        args = {"a": tensor(2, dtype=dtype), "b": tensor(*shape, dtype=dtype)}
        variant = op.select(args, storage)
        return variant.id if variant else "none"

    assert chosen("buffer", F32, 2) == "add_same_f32_buffer"
    assert chosen("texture3d", F32, 1) == "add_f32_texture3d"
    assert chosen("texture2d", F32, 1) == "add_f32_texture2d"
    assert chosen("buffer", F16, 2) == "add_f16_buffer"
    assert chosen("buffer", DType.I32, 2) == "none"


def test_dispatch_returns_push_and_grid(project: Project) -> None:
    op = project.load().ops["aten.add.Tensor"]
    call = {"a": tensor(2, 3), "b": tensor(3), "alpha": 0.5}
    assert op.dispatch(call, Storage.BUFFER) == ({"n": 6, "alpha": 0.5}, (6, 1, 1))


def test_reference_expression_and_function(project: Project) -> None:
    values = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0]), "alpha": 2.0}
    (y,) = project.load().ops["aten.add.Tensor"].reference(values)
    assert y.tolist() == [7.0, 10.0]
    project.write("op_specs/reference/part.py", "def twice(x):\n    return 2 * x\n")
    project.write(
        "op_specs/reference/maths.py",
        "from .part import twice\n\ndef add(a, b, alpha):\n    return a, twice(b) * alpha\n",
    )
    project.spec("reference: a + alpha * b", "reference: maths.add")
    a, b = project.load().ops["aten.add.Tensor"].reference(values)
    assert (a.tolist(), b.tolist()) == ([1.0, 2.0], [12.0, 16.0])


def test_reference_function_that_does_not_exist(project: Project) -> None:
    project.write("op_specs/reference/maths.py", "def plus(a):\n    return a\n")
    project.spec("reference: a + alpha * b", "reference: maths.add")
    project.rejects("op_specs/add.yaml:14:12: error: Module maths.py has no function 'add'.")


def test_cases_come_from_the_spec_and_its_template(project: Project) -> None:
    op = project.load().ops["aten.add.Tensor"]
    assert [case.args for case in op.tests] == [
        {"a": TensorCase((2, 3)), "b": TensorCase((3,)), "alpha": 0.5},
        {"a": TensorCase((7,)), "b": TensorCase((7,)), "alpha": 1.0},
    ]
    assert op.tolerance[F32].rtol == 1e-6
    assert op.tolerance[F16].rtol == 1e-3
    assert op.tolerance[DType.I32].atol == 0


def test_packed_operands_are_linked(project: Project) -> None:
    project.spec("{alpha: alpha}", '{alpha: alpha}\n  tensors: {b: {pack: "spirloom.pack_b(b)"}}')
    pack = (project.root / "op_specs/add.yaml").read_text()
    pack = pack.replace("aten.add.Tensor", "spirloom.pack_b").replace("spirloom.pack_b(b)", "x")
    pack = pack.replace('  tensors: {b: {pack: "x"}}\n', "")
    project.write("op_specs/pack_b.yaml", pack)
    project.rejects("op_specs/add.yaml:14:24: error: Argument 'b' of spirloom.pack_b is missing.")
    project.spec("spirloom.pack_b(b)", "spirloom.pack_b(b, a, 2)")
    operand = project.load().ops["aten.add.Tensor"].kernels[0].operands[1]
    assert operand.pack is not None
    assert len(operand.pack.args) == 3
    project.spec("spirloom.pack_b(b, a, 2)", "spirloom.pack_b(b, a, a.shape)")
    project.rejects(
        "op_specs/add.yaml:14:24: error: Argument 'alpha' of spirloom.pack_b is ints; "
        "expected float."
    )


def test_axes_produce_mixed_variants(project: Project) -> None:
    project.spec(
        "{alpha: alpha}",
        "{alpha: alpha}\n  axes:\n    out: {values: [f32, f16], of: y.dtype}\n"
        "    width: {values: [1, 4], of: 4 if a.rank > 1 else 1}\n"
        "  where: dtype == 'f32' and out != dtype\n  tensors: {y: {dtype: out}}",
    )
    library = project.load()
    assert [v.id for v in library.variants] == [
        "add_f32_buffer_f16_w1",
        "add_f32_texture3d_f16_w1",
        "add_f32_texture2d_f16_w1",
        "add_f32_buffer_f16_w4",
        "add_f32_texture3d_f16_w4",
        "add_f32_texture2d_f16_w4",
    ]
    assert [v.key for v in library.variants] == [0x110, 0x120, 0x130, 0x1110, 0x1120, 0x1130]
    assert library.variants[0].tensors[2].dtype is F16


def test_dispatches_follow_the_device_and_constants(project: Project) -> None:
    wide = "constants: {WIDE: not is_cpu}\ngrid: numel(y) * (subgroup_size if WIDE else 1)\n"
    project.edit("templates/glsl/binary.yaml", "grid: numel(y)\n", wide)
    op = project.load().ops["aten.add.Tensor"]
    found = op.dispatch({"a": tensor(2, 3), "b": tensor(3)}, "buffer")
    assert found is not None
    assert found[1] == (6 * 32, 1, 1)


WINDOWED = "  kernel_size: int[2]\n  stride: int[2] = kernel_size\n  dims: int[] = []\n"


def test_a_default_can_be_an_earlier_arg(project: Project) -> None:
    project.spec("  alpha: float = 1.0\n", "  alpha: float = 1.0\n" + WINDOWED)
    project.spec("alpha: 0.5}", "alpha: 0.5, kernel_size: [2, 5]}")
    op = project.load().ops["aten.add.Tensor"]
    assert op.tests[0].args["stride"] == (2, 5)
    given = {"a": tensor(2), "b": tensor(2), "kernel_size": (2, 3)}
    assert op.complete(given)["stride"] == (2, 3)
    # In PyTorch, an omitted list of fixed length is empty, and one int is repeated.
    assert op.complete(given | {"stride": ()})["stride"] == (2, 3)
    assert op.complete(given | {"stride": (4,)})["stride"] == (4, 4)
    assert op.complete(given | {"stride": 4, "dims": 1}) == given | {
        "alpha": 1.0, "stride": (4, 4), "dims": (1,)
    }  # fmt: skip


def test_a_required_list_may_not_be_empty(project: Project) -> None:
    project.spec("  alpha: float = 1.0\n", "  alpha: float = 1.0\n" + WINDOWED)
    project.spec("alpha: 0.5}", "alpha: 0.5, kernel_size: [2, 5]}")
    op = project.load().ops["aten.add.Tensor"]
    with pytest.raises(
        EvalError, match=r"^Argument 'kernel_size' of aten.add.Tensor is missing\.$"
    ):
        op.complete({"a": tensor(2), "b": tensor(2), "kernel_size": ()})


def test_overloads_are_unique(project: Project) -> None:
    project.spec("op: aten.add.Tensor\n", "op: aten.add.Tensor\noverloads: [aten.add.Scalar]\n")
    assert project.load().ops["aten.add.Tensor"].overloads == ("aten.add.Scalar",)
    text = (project.root / "op_specs/add.yaml").read_text()
    project.write("op_specs/plus.yaml", text.replace("aten.add.Tensor", "aten.plus"))
    with pytest.raises(SpecError, match=r"plus.yaml:2:5: error: Op 'aten.add.Scalar' is also"):
        project.load()
