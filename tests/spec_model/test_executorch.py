"""The key `executorch`: names of an op in ExecuTorch."""

from __future__ import annotations

import pytest

from codegen.registry import executorch_bytes
from spec_model import load_library
from spec_model.errors import SpecError
from spec_model.spec import DTypeOf, Exactly, ExecutorchMapping, ShapeOf
from spec_model.templates import ROOT
from tests.codegen.small_project import SPEC, Project

ADD = "op_specs/add.yaml"
OP = "op: aten.add.Tensor\n"
ARGS = "args:\n  a: tensor\n  b: tensor\n  alpha: float = 1.0\n"


def names(project: Project) -> tuple[ExecutorchMapping, ...]:
    return project.load().ops["aten.add.Tensor"].executorch


def test_the_op_name_and_overloads_bind_by_position(project: Project) -> None:
    project.spec(OP, OP + "overloads: [aten.add.Scalar]\n")
    assert [(each.name, each.call_args) for each in names(project)] == [
        ("aten.add.Tensor", ("a", "b", "alpha")),
        ("aten.add.Scalar", ("a", "b", "alpha")),
    ]


def test_names_with_their_arguments(project: Project) -> None:
    project.spec(
        OP,
        OP + "executorch:\n"
        "  - et_vk.plus\n"
        "  - aten.rsub: {args: [b, [a], _, 'x', 2, 0.5, true, null], set: {alpha: -1.0}, rank: 3}\n"
        "  - aten.add.Tensor: [b, a]\n",
    )
    plus, rsub, own = names(project)
    assert (plus.name, plus.call_args, plus.rank) == ("et_vk.plus", ("a", "b", "alpha"), None)
    literals = (Exactly("x"), Exactly(2), Exactly(0.5), Exactly(True), Exactly(None))
    assert rsub.call_args == ("b", ("a",), None, *literals)
    assert (rsub.bindings, rsub.rank) == ((("alpha", -1.0),), 3)
    assert (own.name, own.call_args) == ("aten.add.Tensor", ("b", "a"))


def test_bindings_from_tensors(project: Project) -> None:
    more = ARGS + '  sizes: "int[] = []"\n  kind: str = f32\n'
    project.spec(ARGS, more)
    project.spec(
        OP,
        OP + "executorch:\n  - x.y: {args: [a, b], set: {sizes: 'y.shape[2:]', kind: a.dtype}}\n",
    )
    name = names(project)[0]
    assert name.bindings == (("sizes", ShapeOf("y", 2)), ("kind", DTypeOf("a")))
    data = executorch_bytes(project.load())
    assert data.startswith(b"\x15spirloom-executorch-4\0\1\x0faten.add.Tensor\0")
    assert b"\3x.y\0" in data and b"\x0faten.add.Tensor\0\0\0\0\0\0" in data


def test_parts_and_in_place_results(project: Project) -> None:
    project.spec(
        OP,
        OP + "executorch:\n"
        "  - x: {args: [a, b], result: a, part: 1 of 2}\n"
        "  - x: {args: [b, a], result: 1, part: 2 of 2}\n",
    )
    first, second, _ = names(project)
    assert (first.part, first.parts, first.result) == (0, 2, "a")
    assert (second.part, second.parts, second.result) == (1, 2, 1)


def test_value_of_a_tensor_with_a_fixed_dtype() -> None:
    library = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])
    name = "et_vk.apply_rotary_emb"
    (first, second) = (
        f for f in library.ops["spirloom.rotary_at_positions"].executorch if f.name == name
    )
    assert first.bindings == (("positions", 0), ("interleaved", True))
    assert (first.result, second.result) == (0, 1)


@pytest.mark.parametrize(
    ("item", "position", "message"),
    [
        ("x y", "4:5", "Name 'x y' is invalid; expected a name such as et_vk.rms_norm."),
        ("x.default", "4:5", "Name 'x.default' ends in '.default'; remove the suffix."),
        ("x: [a, c]", "4:12", "'c' is not an argument of this spec; they are: a, b, alpha."),
        ("x: [a, a]", "4:12", "Argument 'a' has two values."),
        ("x: [a]", "4:5", "'x' does not bind argument 'b', which has no default."),
        ("x: [a, {b: 1}]", "4:12", "An argument cannot be a map."),
        ("x: {args: [a, b], set: {gamma: 1}}", "4:29", "'gamma' is not an argument of this spec;"),
        ("x: {args: [a, b], set: {alpha: no}}", "4:36", "Name 'no' is unknown here"),
        (
            "x: {args: [a], set: {b: 1}}",
            "4:29",
            "Argument 'b' is a tensor; it cannot be set to a value.",
        ),
        (
            "x: {args: [a, b], set: {alpha: a.shape}}",
            "4:36",
            "'a.shape' is int[]; 'alpha' expects float.",
        ),
        ("x: {args: [a, b], set: {alpha: z.shape}}", "4:36", "'z' is not a tensor of this spec;"),
        ("x: {args: [a, b], rank: 9}", "4:29", "Rank 9 is not in 0 to 8."),
        ("x: {set: {}}", "4:8", "Key 'args' is missing from 'x'."),
        ("x: {args: [a, [b]], result: b}", "4:5", "'x' modifies 'b', which is not bound."),
        (
            "x: {args: [a, b], part: 3 of 2}",
            "4:29",
            "Part '3 of 2' does not have the format '1 of 3'.",
        ),
        ("x: {args: [a, b], part: 1 of 2}", "4:5", "'x' has 2 parts; no spec has"),
        (
            "x: {args: [a, b], result: 9}",
            "4:31",
            "Result '9' is neither in 0 to 8 nor",
        ),
        (
            "x: {args: [a, b], result: y}",
            "4:31",
            "Result 'y' is neither in 0 to 8 nor",
        ),
        ("{x: [a, b], z: [a, b]}", "4:5", "An item of 'executorch' must have one name."),
    ],
)
def test_errors(project: Project, item: str, position: str, message: str) -> None:
    project.spec(OP, OP + f"executorch:\n  - {item}\n")
    with pytest.raises(SpecError) as error:
        project.load()
    assert str(error.value).startswith(f"{ADD}:{position}: error: {message}")


OTHER = SPEC.replace("aten.add.Tensor", "aten.sub.Tensor")


@pytest.mark.parametrize(
    ("ours", "theirs", "clash"),
    [
        ("x: [a, b]", "x: [b, a]", True),
        ("x: {args: [a, b], rank: 3}", "x: [b, a]", True),
        ("x: {args: [a, b], rank: 3}", "x: {args: [b, a], rank: 4}", False),
        ("x: [a, b, true]", "x: [b, a, false]", False),
        ("x: [a, b, true]", "x: [b, a, true]", True),
        ("x: [a, b, true]", "x: [b, a, alpha]", True),
    ],
)
def test_two_specs_of_one_name(project: Project, ours: str, theirs: str, clash: bool) -> None:
    other = OTHER.replace(
        "op: aten.sub.Tensor\n", f"op: aten.sub.Tensor\nexecutorch:\n  - {theirs}\n"
    )
    project.write("op_specs/sub.yaml", other)
    project.spec(OP, OP + f"executorch:\n  - {ours}\n")
    if not clash:
        assert project.load()
        return
    with pytest.raises(SpecError) as error:
        project.load()
    assert str(error.value) == (
        "op_specs/sub.yaml:4:5: error: 'x' is also bound at op_specs/add.yaml:4:5; add different "
        "ranks or argument values to both."
    )


def test_entries_of_one_spec_may_overlap(project: Project) -> None:
    project.spec(OP, OP + "executorch:\n  - x: [a, b, null]\n  - x: [a, b, alpha]\n")
    assert [each.name for each in names(project)] == ["x", "x", "aten.add.Tensor"]
