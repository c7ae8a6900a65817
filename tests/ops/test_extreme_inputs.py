"""The cases with extreme input values that are generated for every spec."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from spirloom.casegen.case_pack import Case
from spirloom.casegen.make import cases_of

from spec_model import SpecError, load_library

SPEC = """\
# y = a, b
op: test.pick
args:
  a: tensor
  index: tensor<i32>
outputs:
  y: {{shape: a.shape, dtype: {dtype}}}
kernel:
  template: pick.glsl.j2
  dtypes: [f32, f16, i32, u8, b8]
  grid: numel(y)
reference: {reference}
tests:
  - {{a: [2, 2, 2, 2, 16], index: {{shape: [4], range: [0, 3]}}}}
  - {{a: {{shape: [400], range: [0, 1]}}, index: {{shape: [4], range: [0, 3]}}}}
{domain}"""


def extremes(
    directory: Path, domain: str = "", reference: str = "a", dtype: str = "a.dtype"
) -> dict[str, Case]:
    """The generated cases by variant."""
    specs, templates = directory / "specs", directory / "templates"
    for path in (specs, templates):
        path.mkdir()
    (specs / "pick.yaml").write_text(SPEC.format(reference=reference, domain=domain, dtype=dtype))
    (templates / "pick.glsl.j2").write_text("{# No params. #}\nvoid main() {}\n")
    cases = cases_of(load_library([specs], [templates]).ops["test.pick"])
    return {case.variant or "": case for case in cases if case.id.endswith("_extremes")}


def test_each_variant_has_a_case_with_the_limits_of_its_dtype(tmp_path: Path) -> None:
    cases = extremes(tmp_path)
    assert len(cases) == 5 * 3
    integers = cases["pick_i32_texture3d"].inputs[0].data
    assert {-(2**31), 2**31 - 1, 2**24 + 1, -1, 0} <= {*integers.tolist()}
    unsigned = cases["pick_u8_buffer"].inputs[0].data
    assert {0, 255, 128} <= {*unsigned.tolist()}
    for dtype in ("f32", "f16"):
        data = cases[f"pick_{dtype}_buffer"].inputs[0].data
        limits = np.finfo(data.dtype)
        assert np.isnan(data).any()
        finite = (limits.max, limits.min, limits.tiny, limits.smallest_subnormal)
        for value in (np.inf, -np.inf, *finite):
            assert (data == value).any()
        assert {*np.signbit(data[data == 0])} == {False, True}


def test_indices_have_the_range_of_the_tests(tmp_path: Path) -> None:
    for case in extremes(tmp_path).values():
        assert {*case.inputs[1].data.tolist()} <= {0, 1, 2, 3}


def test_a_domain_limits_the_values(tmp_path: Path) -> None:
    cases = extremes(tmp_path, "domain: {floats: [-5, 70], integers: tests}\n")
    assert {case.partition("_")[2] for case in cases} == {
        f"{dtype}_{storage}" for dtype in ("f32", "f16") for storage in STORAGES
    }
    for case in cases.values():
        data = case.inputs[0].data
        assert data.min() >= -5 and data.max() <= 70 and data.max() > 8


STORAGES = ("buffer", "texture2d", "texture3d")


def test_an_argument_can_have_its_own_domain(tmp_path: Path) -> None:
    cases = extremes(tmp_path, "domain: {a: [3, 300], floats: tests}\n")
    integers = cases["pick_i32_buffer"].inputs[0].data
    assert integers.min() >= 3 and integers.max() <= 300
    assert cases["pick_u8_buffer"].inputs[0].data.min() >= 3


@pytest.mark.parametrize(
    ("dtype", "limits"),
    [
        ("i32", {"f32": (-(2.0**31), 2.0**31 - 128), "f16": (-65504, 65504)}),
        ("u8", {"f32": (0, 255), "f16": (0, 255)}),
        ("b8", {"f32": (-np.inf, np.inf), "f16": (-np.inf, np.inf)}),
    ],
)
def test_a_domain_can_be_the_value_range_of_an_output(
    tmp_path: Path, dtype: str, limits: dict[str, tuple[float, float]]
) -> None:
    cases = extremes(tmp_path, "domain: {floats: y}\n", f"a.astype('{NUMPY[dtype]}')", dtype)
    for given, (low, high) in limits.items():
        data = cases[f"pick_{given}_buffer"].inputs[0].data.astype(np.float64)
        assert np.isnan(data).any() == (dtype == "b8")
        assert np.nanmin(data) >= low and np.nanmax(data) <= high
        assert np.nanmax(data) > 0.9 * high or high == np.inf


NUMPY = {"i32": "int32", "u8": "uint8", "b8": "bool"}


def test_denormals_are_replaced_if_flushing_changes_the_result(tmp_path: Path) -> None:
    data = extremes(tmp_path, reference="np.sign(a + 0)")["pick_f32_buffer"].inputs[0].data
    assert not ((data != 0) & (np.abs(data) < np.finfo(np.float32).tiny)).any()
    assert (data == 0).any()


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (
            "{floats: wide}",
            "16:18: error: A domain must be [LOW, HIGH], 'tests' or the name of an output (y), not "
            "'wide'.",
        ),
        ("{floats: [2, 1]}", "16:18: error: A range must be [LOW, HIGH] with LOW <= HIGH."),
        (
            "{index: [0, 1]}",
            "16:10: error: Key 'index' is unknown in 'domain'; known keys are: "
            "a, floats, integers.",
        ),
    ],
)
def test_invalid_domains(tmp_path: Path, domain: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        extremes(tmp_path, f"domain: {domain}\n")
    assert str(caught.value) == f"specs/pick.yaml:{message}"
