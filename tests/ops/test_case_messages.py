"""Error messages of `spirloom cases` for tests and references, with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.casegen.make import cases_of

from spec_model import SpecError, load_library

SPEC = """\
# y = 2 a
op: test.double
args:
  a: tensor
  scale: int = 2
checks:
  - scale >= 2
outputs:
  y: {{shape: "[a.shape[0], scale - 3 + 3]", dtype: a.dtype}}
kernel:
  template: double.glsl.j2
  when: scale < 100
  dtypes: [f32, i32]
  storages: [buffer]
  unsupported_storage: {{texture: none is needed}}
  grid: numel(y)
reference: {reference}
tests:
{tests}"""
MODULE = """\
import numpy as np


def unknown(a, scale):
    return a * facto


def nothing(a, scale):
    pass


def few(a):
    return a


def text(a, scale):
    return "four"


def deep(a, scale):
    return inner(a)


def inner(a):
    return a[:, 7]
"""
GOOD = "np.repeat(a[:, None] * 2, scale, axis=1)"


def message(
    directory: Path,
    *tests: str,
    reference: str = GOOD,
    module: str = MODULE,
    shared: str = "",
    spec: str = SPEC,
) -> str:
    """The error message for a spec with these test lines."""
    specs, templates = directory / "specs", directory / "templates"
    for path in (specs / "reference", templates):
        path.mkdir(parents=True)
    lines = "".join(f"  - {test}\n" for test in tests or ("{a: [3]}",))
    (specs / "double.yaml").write_text(spec.format(reference=reference, tests=lines))
    (specs / "reference" / "mine.py").write_text(module)
    (templates / "double.glsl.j2").write_text("{# No params. #}\nvoid main() {}\n")
    if shared:
        (templates / "double.yaml").write_text(f"test_shapes:\n  - {shared}\n")
    with pytest.raises(SpecError) as caught:
        list(cases_of(load_library([specs], [templates]).ops["test.double"]))
    return str(caught.value)


def test_valid_cases_are_generated(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        message(tmp_path)


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (
            "{a: [3], scale: 1}",
            "This is not a valid call of test.double: scale >= 2 does not hold (1 vs 2).",
        ),
        (
            "{a: [], scale: 3}",
            "This is not a valid call of test.double: Index (0) is out of range of a list of 0. "
            "(The formula is at specs/double.yaml:9:3.)",
        ),
        ("{a: [3], scale: 200}", "No variant of test.double supports this case."),
        ("{a: [3], dtypes: [f16]}", "No variant of test.double supports this case."),
        ("{a: [3], storages: [texture3d]}", "No variant of test.double supports this case."),
    ],
)
def test_invalid_calls(tmp_path: Path, test: str, text: str) -> None:
    assert message(tmp_path, "{a: [3]}", test) == f"specs/double.yaml:20:5: error: {text}"


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("scale >= 2", "a.shape[5] >= 2", "7:5"),
        ("scale < 100", "a.shape[5] < 100", "11:3"),
        ("checks:", "let: {{n: 'a.shape[5]'}}\nchecks:\n  - n >= 2", "6:7"),
    ],
)
def test_a_formula_that_cannot_be_evaluated(tmp_path: Path, old: str, new: str, at: str) -> None:
    text = message(tmp_path, spec=SPEC.replace(old, new))
    assert "Index (5) is out of range of a list of 1." in text
    assert text.endswith(f"(The formula is at specs/double.yaml:{at}.)")


def test_an_output_of_negative_size(tmp_path: Path) -> None:
    spec = SPEC.replace("scale - 3 + 3", "2 - scale")
    specs, templates = tmp_path / "specs", tmp_path / "templates"
    for path in (specs, templates):
        path.mkdir()
    (specs / "double.yaml").write_text(
        spec.format(reference=GOOD, tests="  - {a: [3], scale: 5}\n")
    )
    (templates / "double.glsl.j2").write_text("{# No params. #}\nvoid main() {}\n")
    with pytest.raises(SpecError) as caught:
        list(cases_of(load_library([specs], [templates]).ops["test.double"]))
    assert str(caught.value) == (
        "specs/double.yaml:19:5: error: This is not a valid call of test.double: "
        "Output y has the invalid shape [3, -3]."
    )


def test_a_shared_case_of_unsupported_dtypes_is_ignored(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        message(tmp_path, shared="{a: [3], dtypes: [f16]}")


def test_a_shared_case_of_supported_dtypes_is_used(tmp_path: Path) -> None:
    assert message(tmp_path, shared="{a: [3], scale: 200}") == (
        "templates/double.yaml:2:5: error: No variant of test.double supports this case."
    )


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("np.multply(a, 2)", "17:12: error: The reference fails: AttributeError: module 'numpy' "),
        ("a[:, None] * a[5]", "17:25: error: The reference fails: IndexError: index 5 is out of "),
        ("2 * np.zeros(a)", "17:16: error: The reference fails: TypeError: 'numpy.float64' obj"),
        ("mine.few", "17:12: error: The reference fails: TypeError: few() takes 1 positional "),
        ("np.square", "17:12: error: 'np.square' is not called; write np.square(…)."),
    ],
)
def test_invalid_expressions(tmp_path: Path, reference: str, text: str) -> None:
    assert message(tmp_path, reference=reference).startswith(f"specs/double.yaml:{text}")


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("unknown", "5:16: error: The reference fails: NameError: name 'facto' is not defined. "),
        ("deep", "25:12: error: The reference fails: IndexError: too many indices for array: "),
    ],
)
def test_failing_functions(tmp_path: Path, function: str, text: str) -> None:
    found = message(tmp_path, reference=f"mine.{function}")
    assert found.startswith(f"specs/reference/mine.py:{text}")
    assert found.endswith("(In double_f32_buffer/3.)")


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            "def f(a, scale):\n    return a +\n",
            "2:15: error: The reference fails: SyntaxError: inval",
        ),
        (
            "import numby\n\n\ndef f(a, scale):\n    return a\n",
            "1:1: error: The reference fails: Mod",
        ),
    ],
)
def test_invalid_modules(tmp_path: Path, module: str, text: str) -> None:
    found = message(tmp_path, reference="mine.f", module=module)
    assert found.startswith(f"specs/reference/mine.py:{text}")


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (
            "mine.nothing",
            "The reference returns an object of type NoneType; expected a numeric array.",
        ),
        ("mine.text", "The reference returns an array of <U4; expected a numeric array."),
        ("a", "The reference returns the shape (3,); the spec has (3, 2)."),
    ],
)
def test_invalid_results(tmp_path: Path, reference: str, text: str) -> None:
    found = message(tmp_path, reference=reference)
    assert found == f"specs/double.yaml:19:5: error: {text} (In double_f32_buffer/3.)"


def test_constant_expected_results(tmp_path: Path) -> None:
    reference = "np.repeat(a[:, None] * 0 + 7, scale, axis=1)"
    tests = ("{a: [3], dtypes: [i32]}", "{a: [4], uniform: true, dtypes: [f32]}")
    assert message(tmp_path, *tests, reference=reference) == (
        "specs/double.yaml:19:5: error: All cases of double_i32_buffer expect the constant 7 in "
        "y: a kernel that writes only this constant would pass. Add a case with other expected "
        "values, or set 'uniform: true' in one if there are none."
    )


def test_intended_constant_results(tmp_path: Path) -> None:
    reference = "np.repeat(a[:, None] * 0 + 7, scale, axis=1)"
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        tests = ("{a: [3], dtypes: [i32]}", "{a: [4], uniform: true}")
        message(tmp_path, *tests, reference=reference)
