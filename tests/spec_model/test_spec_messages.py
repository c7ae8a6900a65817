"""Errors in specs are reported with line, column and remedy."""

from __future__ import annotations

import pytest

from spec_model.device_properties import DEVICE_PROPERTIES
from spec_model.errors import one_of
from spec_model.load.operands import builtin_ops
from spec_model.vocabulary import DType
from tests.codegen.small_project import Project

DTYPES = ", ".join(DType)

ADD = "op_specs/add.yaml"
PACKING_OPS = sorted(name for name in builtin_ops() if ".pack_" in name)

# (text of the spec, its replacement, position, message)
ERRORS = [
    # Maps and keys.
    (
        "op: aten",
        "opp: aten",
        "2:1",
        "Key 'opp' is unknown in a spec; known keys are: op, overloads, executorch, onnx, traits, "
        "args, let, checks, outputs, bounds, view_of, view_offset, in_place, fused_from, "
        "kernel, kernels, reference, tests, domain, tolerance, for.",
    ),
    ("reference: a + alpha * b\n", "", "2:1", "Key 'reference' is missing from a spec."),
    (
        "op: aten.add.Tensor\n",
        "op: aten.add.Tensor\nop: aten.sub\n",
        "3:1",
        "Key 'op' is repeated; line 2 has it already.",
    ),
    (
        "aten.add.Tensor",
        "add",
        "2:5",
        "Op 'add' is invalid; expected a name such as aten.add.Tensor.",
    ),
    ("tests:\n  - {", "tests: {", "15:8", "A list is expected for 'tests', not a map."),
    (
        "kernel:\n",
        "kernel:\n  grids: 1\n",
        "10:3",
        "Key 'grids' is unknown in a kernel; known keys "
        "are: name, template, extends, when, prefer, loop_iterations, long_loops, dtypes, "
        "storages, unsupported_storage, axes, where, auto_inserted, tensors, access, "
        "intermediates, "
        "optional_args, params, alternatives, push, "
        "constants, workgroup, grid, repeat, concat_offset, needs, portable, test_only.",
    ),
    ("kernel:", "kernels:", "10:3", "A list is expected for 'kernels', not a map."),
    (
        "reference: a",
        "kernels: []\nreference: a",
        "2:1",
        "A spec must have either 'kernel' or 'kernels'.",
    ),
    (
        "  params: {expr",
        "  prefer: is_cpu and subgroup_size == a.rank\n  params: {expr",
        "10:3",
        "Kernel 'add' is the last; it must support every device, without 'prefer'.",
    ),
    (
        "  params: {expr",
        "  repeat: a.rank\n  loop_iterations: a.rank * i\n  params: {expr",
        "13:20",
        "'loop_iterations' is the maximum over all dispatches; it cannot depend on 'i'.",
    ),
    (
        "  params: {expr",
        "  when: is_cpu\n  params: {expr",
        "12:9",
        "Name 'is_cpu' is unknown here; known names are: a, b, alpha, y.",
    ),
    # Arguments.
    (
        "b: tensor",
        "b: tensr",
        "5:6",
        "Argument type 'tensr' is not one of: tensor, tensor<DTYPE>, "
        "tensor<any>, tensor?, tensor[], int, float, number, bool, str, int[], int[N].",
    ),
    (
        "alpha: float = 1.0",
        "alpha: float = one",
        "6:18",
        "Name 'one' is unknown here; known names are: (none).",
    ),
    (
        "alpha: float = 1.0",
        "alpha: int = 1.5",
        "6:16",
        "Expression is of type float; expected int.",
    ),
    (
        "alpha: float = 1.0",
        "lambda: float = 1.0",
        "6:3",
        "Name 'lambda' is reserved; choose another.",
    ),
    (
        "alpha: float = 1.0",
        "al__pha: float = 1.0",
        "6:3",
        "Name 'al__pha' is not a name: letters, digits and single '_' between them.",
    ),
    # Outputs.
    (
        '"broadcast(a.shape, b.shape)"',
        "a.shpe",
        "8:14",
        "Attribute 'shpe' is unknown for tensor; known are: shape, rank, dtype, storage.",
    ),
    (
        '"broadcast(a.shape, b.shape)"',
        '"broadcast(a.shape, c.shape)"',
        "8:34",
        "Name 'c' is unknown here; known names are: a, b, alpha.",
    ),
    (
        '"broadcast(a.shape, b.shape)"',
        "a.rank",
        "8:14",
        "Expression is of type int; expected ints.",
    ),
    (
        "dtype: a.dtype",
        "dtype: fp16",
        "8:52",
        f"DType 'fp16' is neither an argument nor one of: {DTYPES}.",
    ),
    (
        '{shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}',
        "like c",
        "8:6",
        "An output is '{shape: EXPR, dtype: EXPR}' or 'like ARG', ARG one of: a, b.",
    ),
    # Kernels.
    (
        "[f32, f16]",
        "[f32, fp16]",
        "11:17",
        f"DType 'fp16' is not one of: {DTYPES}, floats, ints, numbers, all, stored_floats.",
    ),
    ("[f32, f16]", "[f32, f32]", "11:17", "DType 'f32' is repeated."),
    ("[f32, f16]", "[floats, f16]", "11:20", "DType 'f16' is repeated."),
    ("[f32, f16]", "[]", "11:11", "List of DTypes is empty."),
    (
        "[f32, f16]",
        "[f32]\n  storages: [bufer]",
        "12:14",
        "Storage 'bufer' is not one of: buffer, texture3d, texture2d, texture.",
    ),
    (
        "[f32, f16]",
        "[f32]\n  storages: [buffer]",
        "12:13",
        "Storage 'texture' is missing; add it, or a reason: unsupported_storage: "
        "{texture: REASON}.",
    ),
    (
        "[f32, f16]",
        "[f32]\n  storages: [buffer, texture3d]",
        "12:13",
        "Storage 'texture2d' is missing; add it, or a reason: unsupported_storage: "
        "{texture2d: REASON}.",
    ),
    (
        "[f32, f16]",
        "[f32]\n  storages: [buffer]\n  unsupported_storage: {buffer: none}",
        "13:25",
        "Storage 'buffer' is in both 'storages' and 'unsupported_storage'.",
    ),
    (
        "[f32, f16]",
        "[f32]\n  unsupported_storage: {buffer: none, texture: none}",
        "12:39",
        "'unsupported_storage' names every storage; a kernel supports at least one.",
    ),
    (
        "[f32, f16]",
        "[f32]\n  storages: [texture3d, texture]",
        "12:25",
        "Storage 'texture3d' is repeated.",
    ),
    ("[f32, f16]", "[f32]\n  storages: []", "12:13", "List of Storages is empty."),
    (
        "binary.glsl.j2",
        "binry.glsl.j2",
        "10:13",
        "Template 'binry.glsl.j2' is not one of: binary.glsl.j2.",
    ),
    (
        "binary.glsl.j2",
        "'*.glsl.j2'",
        "10:14",
        "Template '*.glsl.j2' is not one of: binary.glsl.j2.",
    ),
    (
        "{expr: a + b * alpha}",
        "{expr: a + b, exp: 1}",
        "12:25",
        "Param 'exp' is unknown in template binary.glsl.j2; it declares: expr, scale.",
    ),
    (
        "  params: {expr: a + b * alpha}\n",
        "",
        "10:3",
        "Param 'expr' of template binary.glsl.j2 is missing; add it to 'params'.",
    ),
    (
        "  push:",
        "  needs: [fp16]\n  push:",
        "13:11",
        "Capability 'fp16' is not one of: "
        "storage_buffer_16bit, storage_buffer_8bit, shader_float16, shader_int8, shader_int16, "
        "shader_int64, subgroup_basic, subgroup_vote, subgroup_arithmetic, subgroup_ballot, "
        "subgroup_shuffle, integer_dot_product, cooperative_matrix, shared_memory_32k, "
        "shared_memory_48k, bfloat16_matrix.",
    ),
    (
        "{alpha: alpha}",
        '{alpha: "alpha + y"}',
        "13:18",
        "Operator '+' does not apply to float and tensor.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: a.shape}",
        "13:17",
        "The length of 'alpha' is not constant; wrap it "
        "in pad_left(…, N, fill) with a literal N.",
    ),
    (
        "{alpha: alpha}",
        '{s: "pad_left(a.shape, 32, 1)"}',
        "13:10",
        "Push constants up to 's' have 132 bytes; the limit is 128.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  workgroup: [64, 4, 1]",
        "14:14",
        "The workgroup has 256 invocations; Vulkan guarantees 128. Add 'prefer', so that other "
        "devices select a later kernel.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  workgroup: [1, 1, 128]",
        "14:14",
        "A workgroup has three positive sizes, the last at most 64, and at most 1024 invocations.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  grid: [1, 2]",
        "14:9",
        "A grid is one int expression or a list of three.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  where: dtype == 'f64'",
        "14:19",
        f"DType 'f64' is not one of: {DTYPES}.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  where: dtype == 'i8'",
        "10:3",
        "Kernel 'add' has no variant: 'where' excludes every combination.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  tensors: {c: {storage: buffer}}",
        "14:13",
        "'c' is not one of the op's tensors: a, b, y.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  access: {c: vec4}",
        "14:12",
        "'c' is not one of the kernel's tensors: a, b, y.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  access: {a: [vec4, vec2]}",
        "14:22",
        "Access 'vec2' is not one of: vec4, also_vec4, vec8, deferred, deferred_vec4.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  tensors: {a: {access: reads}}",
        "14:25",
        "Access 'reads' is not one of: read, write, readwrite.",
    ),
    (
        "{alpha: alpha}",
        '{alpha: alpha}\n  tensors: {b: {pack: "spirloom.pack_x(b)"}}',
        "14:24",
        f"Packing op 'spirloom.pack_x' is not one of: {one_of(PACKING_OPS)}.",
    ),
    (
        "{alpha: alpha}",
        '{alpha: alpha}\n  axes: {v: {values: [1, 4], of: "a.shape"}}',
        "14:35",
        "Expression is of type ints; expected int.",
    ),
    (
        "{alpha: alpha}",
        "{alpha: alpha}\n  when: a.storage == 'buffer'",
        "14:9",
        "Storages are not "
        "known when this expression is evaluated. Use them in axes, push, constants or grid.",
    ),
    # Reference, tests, tolerance.
    (
        "reference: a + alpha * b",
        "reference: a + alhpa * b",
        "14:16",
        "Name 'alhpa' is neither an arg (a, b, alpha), np, nor a module in op_specs.",
    ),
    (
        "reference: a + alpha * b",
        "reference: a +* b",
        "14:15",
        "Expression does not parse: invalid syntax.",
    ),
    (
        "alpha: 0.5",
        "alpah: 0.5",
        "16:25",
        "Key 'alpah' is unknown in a test case; known keys are: a, "
        "b, alpha, dtypes, storages, kernel, uniform.",
    ),
    ("b: [3], ", "", "16:5", "Argument 'b' is missing from the test case."),
    (
        "a: [2, 3]",
        "a: [2, -3]",
        "16:9",
        "Shape [2, -3] is invalid; expected at most 8 sizes, none negative, and at most 268435456 "
        "elements.",
    ),
    (
        "a: [2, 3]",
        "a: {shape: [2], values: [1]}",
        "16:30",
        "Shape [2] has 2 elements, but there are 1 values.",
    ),
    (
        "a: [2, 3]",
        "a: {shape: [2], range: [1, -1]}",
        "16:29",
        "A range must be [LOW, HIGH] with LOW <= HIGH.",
    ),
    ("alpha: 0.5}", "kernel: sub}", "16:33", "Kernel 'sub' is not one of: add."),
    (
        "{f32: 1e-6}",
        "{fp32: 1e-6}",
        "17:13",
        f"Key 'fp32' is unknown in 'tolerance'; known keys are: {DTYPES}, because, " "signed_zero.",
    ),
    (
        "{f32: 1e-6}",
        "{f32: 2e-5}",
        "17:18",
        "The tolerance of f32 exceeds the default, rtol 1e-05 and atol 1e-05; add the reason as "
        "'because'.",
    ),
    ("{f32: 1e-6}", "{f32: small}", "17:18", "A number is expected for a tolerance, not 'small'."),
]


@pytest.mark.parametrize(("old", "new", "at", "message"), ERRORS)
def test_message_with_line_and_column(
    project: Project, old: str, new: str, at: str, message: str
) -> None:
    project.spec(old, new)
    project.rejects(f"{ADD}:{at}: error: {message}")


def test_the_project_itself_is_accepted(project: Project) -> None:
    assert [v.id for v in project.load().variants] == [
        "add_f32_buffer",
        "add_f16_buffer",
        "add_f32_texture3d",
        "add_f16_texture3d",
        "add_f32_texture2d",
        "add_f16_texture2d",
    ]


def test_two_specs_of_one_op(project: Project) -> None:
    project.write("op_specs/plus.yaml", (project.root / ADD).read_text())
    project.rejects(
        "op_specs/plus.yaml:2:5: error: Op 'aten.add.Tensor' is also defined at "
        "op_specs/add.yaml:2:5; rename one."
    )


def test_two_kernels_with_one_name(project: Project) -> None:
    text = (project.root / ADD).read_text().replace("aten.add.Tensor", "aten.plus")
    project.write("op_specs/plus.yaml", text.replace("kernel:\n", "kernel:\n  name: add\n"))
    project.rejects(
        "op_specs/plus.yaml:10:9: error: Kernel 'add' is also defined at op_specs/add.yaml:10:3; "
        "rename one."
    )


def test_errors_of_all_specs_are_reported_at_once(project: Project) -> None:
    text = (project.root / ADD).read_text()
    project.write("op_specs/plus.yaml", text.replace("op:", "operator:"))
    project.spec("[f32, f16]", "[f64]")
    with project.fails(
        f"{ADD}:11:12: error: DType 'f64' is not one of: {DTYPES}, floats, ints, "
        "numbers, all, stored_floats.",
        "op_specs/plus.yaml:2:1: error: Key 'operator' is unknown in a spec; known keys are: op, "
        "overloads, executorch, onnx, traits, args, let, checks, outputs, bounds, view_of, "
        "view_offset, in_place, fused_from, kernel, kernels, reference, tests, domain, tolerance, "
        "for.",
    ):
        project.load()


def test_error_in_a_template_default_is_reported_there(project: Project) -> None:
    project.edit("templates/glsl/binary.yaml", "n: numel(y)", "n: numel(z)")
    project.rejects(
        "templates/glsl/binary.yaml:3:12: error: Name 'z' is unknown here; known names are: a, b, "
        f"alpha, y, storage, i, {', '.join(DEVICE_PROPERTIES)}, workgroup_size."
    )


def test_too_many_tensors(project: Project) -> None:
    args = "".join(f"  c{i}: tensor\n" for i in range(14))
    project.spec("  alpha: float", args + "  alpha: float")
    project.spec("[3], alpha", "[3], " + "".join(f"c{i}: [1], " for i in range(14)) + "alpha")
    project.rejects(
        f"{ADD}:24:3: error: The kernel binds 17 tensors; the limit is 16.",
    )


def test_absent_tensor_in_a_texture(project: Project) -> None:
    project.spec("b: tensor", "b: tensor?")
    project.load()  # the runtime binds a instead
    project.spec("a: tensor", "a: tensor?")
    project.rejects(
        f"{ADD}:4:6: error: Tensor 'a' is optional, and no required input has the same dtype and "
        "storage to be bound in its place. Bind it as a buffer: tensors: {a: {storage: buffer}}."
    )


def test_list_without_repeat(project: Project) -> None:
    project.spec("b: tensor", "b: tensor[]")
    project.spec('"broadcast(a.shape, b.shape)"', "a.shape")
    project.rejects(
        f"{ADD}:10:3: error: 'b' is a list; set 'repeat' to the count of dispatches, one for each "
        "element."
    )


def test_template_case_that_does_not_fit_a_spec(project: Project) -> None:
    project.edit("templates/glsl/binary.yaml", "b: [7]", "c: [7]")
    project.rejects(
        "templates/glsl/binary.yaml:6:14: error: Key 'c' is unknown in a test case; known "
        "keys are: a, b, alpha, dtypes, storages, kernel, uniform. (For op_specs/add.yaml.)"
    )
