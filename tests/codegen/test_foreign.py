"""The key `executorch`: names of a spec's op elsewhere, checked where they are written."""

from __future__ import annotations

import pytest

from codegen import load_library
from codegen.errors import SpecError
from codegen.library import ROOT
from codegen.registry import foreign_bytes
from codegen.spec import DTypeOf, Exactly, ForeignName, ShapeOf
from tests.codegen.small_project import SPEC, Project

ADD = "op_specs/add.yaml"
OP = "op: aten.add.Tensor\n"
ARGS = "args:\n  a: tensor\n  b: tensor\n  alpha: float = 1.0\n"


def names(project: Project) -> tuple[ForeignName, ...]:
    return project.load().ops["aten.add.Tensor"].foreign


def test_the_own_name_and_also_serve_by_place(project: Project) -> None:
    project.spec(OP, OP + "also: [aten.add.Scalar]\n")
    assert [(each.name, each.places) for each in names(project)] == [
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
    assert (plus.name, plus.places, plus.rank) == ("et_vk.plus", ("a", "b", "alpha"), None)
    literals = (Exactly("x"), Exactly(2), Exactly(0.5), Exactly(True), Exactly(None))
    assert rsub.places == ("b", ("a",), None, *literals)
    assert (rsub.settings, rsub.rank) == ((("alpha", -1.0),), 3)
    assert (own.name, own.places) == ("aten.add.Tensor", ("b", "a"))


def test_settings_from_tensors(project: Project) -> None:
    more = ARGS + '  sizes: "int[] = []"\n  kind: str = f32\n'
    project.spec(ARGS, more)
    project.spec(
        OP,
        OP + "executorch:\n  - x.y: {args: [a, b], set: {sizes: 'y.shape[2:]', kind: a.dtype}}\n",
    )
    name = names(project)[0]
    assert name.settings == (("sizes", ShapeOf("y", 2)), ("kind", DTypeOf("a")))
    data = foreign_bytes(project.load())
    assert data.startswith(b"\x15spirloom-executorch-3\0\1\x0faten.add.Tensor\0")
    assert b"\3x.y\0" in data and b"\x0faten.add.Tensor\0\0\0\0\0\0" in data


def test_parts_and_what_they_change(project: Project) -> None:
    project.spec(
        OP,
        OP + "executorch:\n"
        "  - x: {args: [a, b], result: a, part: 1 of 2}\n"
        "  - x: {args: [b, a], result: 1, part: 2 of 2}\n",
    )
    first, second, _ = names(project)
    assert (first.part, first.parts, first.result) == (0, 2, "a")
    assert (second.part, second.parts, second.result) == (1, 2, 1)


def test_a_number_for_a_tensor_of_its_own_dtype() -> None:
    library = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])
    name = "et_vk.apply_rotary_emb"
    (first, second) = (f for f in library.ops["spirloom.rotary_at"].foreign if f.name == name)
    assert first.settings == (("positions", 0), ("interleaved", True))
    assert (first.result, second.result) == (0, 1)


@pytest.mark.parametrize(
    ("item", "position", "message"),
    [
        ("x y", "4:5", "Name 'x y' is not one like et_vk.rms_norm or aten.view_copy."),
        ("x.default", "4:5", "Name 'x.default' ends in '.default', which is left out."),
        ("x: [a, c]", "4:12", "'c' is not an argument of this spec; they are: a, b, alpha."),
        ("x: [a, a]", "4:12", "Argument 'a' is given twice."),
        ("x: [a]", "4:5", "'x' gives argument 'b' no value; it has no default."),
        ("x: [a, {b: 1}]", "4:12", "A map is no argument."),
        ("x: {args: [a, b], set: {gamma: 1}}", "4:29", "'gamma' is not an argument of this spec;"),
        ("x: {args: [a, b], set: {alpha: no}}", "4:36", "Name 'no' is unknown here"),
        ("x: {args: [a], set: {b: 1}}", "4:29", "A tensor is no value; leave 'b' to the call."),
        (
            "x: {args: [a, b], set: {alpha: a.shape}}",
            "4:36",
            "'a.shape' is int[]; 'alpha' is float.",
        ),
        ("x: {args: [a, b], set: {alpha: z.shape}}", "4:36", "'z' is not a tensor of this spec;"),
        ("x: {args: [a, b], rank: 9}", "4:29", "Rank 9 is not one of 0 to 8."),
        ("x: {set: {}}", "4:8", "Key 'args' is missing from 'x'."),
        ("x: {args: [a, [b]], result: b}", "4:5", "'x' changes 'b', which no place gives."),
        ("x: {args: [a, b], part: 3 of 2}", "4:29", "Part '3 of 2' is not one like 1 of 3."),
        ("x: {args: [a, b], part: 1 of 2}", "4:5", "ExecuTorch's 'x' has 2 parts, and no spec is"),
        (
            "x: {args: [a, b], result: 9}",
            "4:31",
            "Result '9' is neither one of 0 to 8 nor",
        ),
        (
            "x: {args: [a, b], result: y}",
            "4:31",
            "Result 'y' is neither one of 0 to 8 nor",
        ),
        ("{x: [a, b], z: [a, b]}", "4:5", "An item of 'executorch' has one name."),
    ],
)
def test_mistakes(project: Project, item: str, position: str, message: str) -> None:
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
        "op_specs/sub.yaml:4:5: error: ExecuTorch's 'x' is served by op_specs/add.yaml:4:5 as "
        "well; give both a 'rank', or at one place values, that tell them apart."
    )


def test_entries_of_one_spec_may_overlap(project: Project) -> None:
    project.spec(OP, OP + "executorch:\n  - x: [a, b, null]\n  - x: [a, b, alpha]\n")
    assert [each.name for each in names(project)] == ["x", "x", "aten.add.Tensor"]
