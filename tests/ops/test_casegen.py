"""The case generator, with small specs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from spirloom.casegen import case_pack
from spirloom.casegen.case_pack import Case
from spirloom.casegen.make import case_of, cases_of
from spirloom.casegen.runs import UniqueNames, runs_of
from spirloom.ir import DType, Storage
from spirloom_schema.CasePack import CasePack

from spec_model import SpecError, load_library
from spec_model.spec import Tolerance
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES

SPEC = """\
# y = 2 a
op: test.double
args:
  a: tensor
  scale: int = 2
outputs:
  y: like a
kernel:
  template: double.glsl.j2
  dtypes: [f32, f16, i32]
  grid: numel(y)
reference: {reference}
tests:
{tests}
"""
TEMPLATE = "{# No params. #}\nvoid main() {}\n"


def make(directory: Path, *tests: str, reference: str = "a * scale", more: str = "") -> list[Case]:
    """The cases of the spec with these test lines, without the generated extreme-value cases."""
    cases = make_all(directory, *tests, reference=reference, more=more)
    return [case for case in cases if not case.id.endswith("_extremes")]


def make_all(
    directory: Path, *tests: str, reference: str = "a * scale", more: str = ""
) -> list[Case]:
    """All cases of the spec with these test lines; `more` are further keys."""
    specs, templates = directory / "specs", directory / "templates"
    for path in (specs, templates):
        path.mkdir(exist_ok=True)
    lines = "".join(f"  - {test}\n" for test in tests)
    (specs / "double.yaml").write_text(SPEC.format(reference=reference, tests=lines) + more)
    (templates / "double.glsl.j2").write_text(TEMPLATE)
    return list(cases_of(load_library([specs], [templates]).ops["test.double"]))


def test_each_variant_has_a_case(tmp_path: Path) -> None:
    cases = make(tmp_path, "{a: [2, 3]}")
    assert sorted(case.id for case in cases) == [
        f"double_{dtype}_{storage}/2x3"
        for dtype in ("f16", "f32", "i32")
        for storage in ("buffer", "texture2d", "texture3d")
    ]


def test_an_unimplemented_reference_generates_failing_cases(tmp_path: Path) -> None:
    module = tmp_path / "specs" / "reference" / "later.py"
    module.parent.mkdir(parents=True)
    module.write_text("def double(a, scale):\n    raise NotImplementedError('write double()')\n")
    cases = make(tmp_path, "{a: [2, 3]}", reference="later.double")
    assert {case.unfinished for case in cases} == {"write double()"}
    pack = CasePack.GetRootAs(case_pack.to_bytes(cases), 4)
    assert pack.Cases(0).Unfinished() == b"write double()"
    assert pack.Cases(0).ExpectedLength() == 1


def test_inputs_and_results_of_the_reference_are_rounded(tmp_path: Path) -> None:
    cases = {case.variant: case for case in make(tmp_path, "{a: [50], scale: 3}")}
    case = cases["double_f16_buffer"]
    given, expected = case.inputs[0].data, case.expected[0].data
    assert given.dtype == expected.dtype == np.float16
    np.testing.assert_array_equal(expected, (given.astype(np.float64) * 3).astype(np.float16))


def test_each_output_has_its_own_tolerance(tmp_path: Path) -> None:
    specs, templates = tmp_path / "specs", tmp_path / "templates"
    for path in (specs, templates):
        path.mkdir()
    text = SPEC.replace("  y: like a", "  y: like a\n  at: {{shape: a.shape, dtype: i32}}")
    text = text.format(reference="(a, np.argsort(a))", tests="  - {a: [9]}\n")
    (specs / "double.yaml").write_text(text + "tolerance: {signed_zero: true}\n")
    (templates / "double.glsl.j2").write_text(TEMPLATE)
    cases = {
        case.variant: case
        for case in cases_of(load_library([specs], [templates]).ops["test.double"])
    }
    case = cases["double_f16_buffer"]
    assert case.tolerances == (Tolerance(1e-3, 1e-5, True), Tolerance(0, 0, True))
    read = CasePack.GetRootAs(case_pack.to_bytes([case]), 4).Cases(0)
    assert read.TolerancesLength() == read.ExpectedLength() == 2
    stored = [read.Tolerances(i) for i in range(2)]
    assert [(x.Rtol(), x.Atol(), x.SignedZero()) for x in stored] == [
        (1e-3, 1e-5, True),
        (0, 0, True),
    ]


def test_storages_share_arrays_and_dtypes_share_values(tmp_path: Path) -> None:
    cases = {case.variant: case for case in make(tmp_path, "{a: [50]}")}
    single = cases["double_f32_buffer"].inputs[0]
    assert cases["double_f32_texture3d"].inputs[0] is single
    assert cases["double_f32_texture3d"].graph is cases["double_f32_buffer"].graph
    float16 = cases["double_f16_buffer"].inputs[0]
    np.testing.assert_allclose(float16.data, single.data, atol=1e-3)


def test_dtypes_and_storages_are_restricted(tmp_path: Path) -> None:
    (case,) = make(tmp_path, "{a: [4], dtypes: [i32], storages: [texture3d]}")
    assert case.variant == "double_i32_texture3d"
    assert case.storage is Storage.TEXTURE3D
    assert case.inputs[0].dtype is DType.I32


def test_textures_support_at_most_four_dims(tmp_path: Path) -> None:
    cases = make(tmp_path, "{a: [1, 2, 1, 2, 3]}")
    assert {case.storage for case in cases} == {Storage.BUFFER}


def test_given_values_and_ranges(tmp_path: Path) -> None:
    tests = (
        "{a: {shape: [3], values: [1, -2, .inf]}, dtypes: [f32], storages: [buffer]}",
        "{a: {shape: [2000], range: [5, 6]}, dtypes: [f32, i32], storages: [buffer]}",
    )
    given, floats, ints = (case.inputs[0].data for case in make(tmp_path, *tests))
    np.testing.assert_array_equal(given, [1, -2, np.inf])
    assert floats.min() >= 5 and floats.max() <= 6 and floats.std() > 0.2
    assert set(ints.tolist()) == {5, 6}


def test_constants_are_stored_in_the_graph(tmp_path: Path) -> None:
    test = "{a: {shape: [64], constant: true}, dtypes: [f32], storages: [buffer]}"
    (case,) = make(tmp_path, test)
    assert case.inputs == ()
    assert len(case.graph) > 64 * 4


def test_names_contain_the_differing_arguments(tmp_path: Path) -> None:
    limits = "dtypes: [f32], storages: [buffer]"
    cases = make(
        tmp_path,
        f"{{a: {{shape: [], values: [1]}}, {limits}}}",
        f"{{a: [0, 3], scale: -4, {limits}}}",
        f"{{a: [0, 3], scale: -4, {limits}}}",
    )
    names = [case.id.partition("/")[2] for case in cases]
    assert names == ["scalar", "0x3_scalem4", "0x3_scalem4_2"]


def test_unique_names() -> None:
    names = UniqueNames()
    assert [names.add(name) for name in ("x", "y", "x", "x")] == ["x", "y", "x_2", "x_3"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("a[1:]", r"shape \(2,\); the spec has \(3,\)"),
        ("a / 2", "fractions for an output of dtype i32"),
        ("(a, a)", "2 results, not 1"),
    ],
)
def test_an_invalid_reference_result_is_an_error(
    tmp_path: Path, reference: str, message: str
) -> None:
    test = "{a: {shape: [3], values: [1, 2, 3]}, dtypes: [i32]}"
    with pytest.raises(SpecError, match=rf"double\.yaml:\d+:\d+: error: .*{message}"):
        make(tmp_path, test, reference=reference)


def test_packs_are_reproducible_and_aligned(tmp_path: Path) -> None:
    cases = make(tmp_path, "{a: [5]}", "{a: [0, 2]}", "{a: []}")
    packed = case_pack.to_bytes(cases)
    assert packed == case_pack.to_bytes(make(tmp_path, "{a: [5]}", "{a: [0, 2]}", "{a: []}"))
    pack = CasePack.GetRootAs(packed, 4)
    assert pack.CasesLength() == len(cases)
    for i, case in enumerate(cases):
        read = pack.Cases(i)
        assert read.Id().decode() == case.id
        assert read.GraphAsNumpy().tobytes() == case.graph
        assert packed.find(case.graph) % 64 == 0
        data = read.Inputs(0).DataAsNumpy() if case.inputs[0].data.size else np.array([], np.uint8)
        assert data.tobytes() == case.inputs[0].data.tobytes()


# Kernels that pack constants, that bind tensors in their own storage, and views.
SHARED = ("aten.convolution", "aten.linear", "spirloom.copy", "aten.view", "aten.mm")


@pytest.mark.parametrize("name", SHARED)
def test_shared_graphs_equal_those_of_each_run(name: str) -> None:
    op = load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES]).ops[name]
    runs = list(runs_of(op))[::5]
    cases = {case.id: case for case in cases_of(op)}
    for run in runs:
        alone, shared = case_of(run), cases[run.id]
        assert alone.graph == shared.graph, run.id
        assert [x.name for x in alone.inputs] == [x.name for x in shared.inputs]


def test_equal_graphs_are_stored_once(tmp_path: Path) -> None:
    (case, *_) = make(tmp_path, "{a: [2, 3]}")
    once, twice = case_pack.to_bytes([case]), case_pack.to_bytes([case, case])
    assert len(twice) - len(once) < len(case.graph)
    pack = CasePack.GetRootAs(twice, case_pack.SIZE_PREFIX)
    graphs = [pack.Cases(i).GraphAsNumpy().tobytes() for i in range(2)]
    assert graphs == [case.graph, case.graph]
