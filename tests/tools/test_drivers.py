"""Known failures of drivers, and the reading of the program's output."""

from pathlib import Path

import pytest

from tools.drivers.__main__ import HEADER, part_of, row
from tools.drivers.cases import CrashError, Outcome, run_cases
from tools.drivers.known import Property, read, unknown, unused
from tools.drivers.programs import run_tests

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = """\
op_tests.cpp:42: Failure
Value of: status.ok()
aten.exp2: Output y: 4 of 210 elements are wrong
[  FAILED  ] Op.exp2_f32_buffer/2x7_extremes (0 ms)
[==========] 12 tests from 1 test suite ran. (8 ms total)
[  PASSED  ] 8 tests.
[  SKIPPED ] 3 tests.
"""


def program(directory: Path, output: str) -> Path:
    """A program that prints the output in the first of its processes."""
    path = directory / "op_tests"
    path.write_text(
        "#!/bin/sh\n"
        'if [ "$SPIRLOOM_VARIANT_SHARD" = 0 ]; then\n'
        f"cat <<'END'\n{output}END\n"
        "else echo '[==========] 0 tests from 1 test suite ran.'; fi\nexit 1\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


def test_cases_of_all_processes_are_counted(tmp_path: Path) -> None:
    outcome = run_cases(program(tmp_path, OUTPUT), tmp_path / "icd.json", 1)
    assert (outcome.passed, outcome.skipped) == (8, 3)
    assert outcome.failures.keys() == {"exp2_f32_buffer/2x7_extremes"}
    assert "4 of 210 elements are wrong" in outcome.failures["exp2_f32_buffer/2x7_extremes"]


def test_parts_are_disjoint_and_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of variants, and of the tests of other programs, those whose number is the index modulo the
    total run.
    """
    path = tmp_path / "op_tests"
    own, of_googletest = (
        f"${name}_SHARD{index}/${name}{count}_SHARDS"
        for name, index, count in (("SPIRLOOM_VARIANT", "", ""), ("GTEST", "_INDEX", "_TOTAL"))
    )
    path.write_text(
        "#!/bin/sh\n"
        f'echo "{own}/$SPIRLOOM_CASE_SHARDS|{of_googletest}" >> {tmp_path}/ran\n'
        "echo '[==========] 1 test from 1 test suite ran.'\necho '[  PASSED  ] 1 test.'\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for text in ("1/3", "2/3", "3/3"):
        part = part_of(text)
        outcome = run_cases(path, tmp_path / "icd.json", 1, part.count, part.index)
        assert outcome.passed == 2
        run_tests(path, tmp_path / "icd.json", part.count, index=part.index)
    ran = (tmp_path / "ran").read_text(encoding="utf-8").split()
    assert sorted(each for each in ran if each.endswith("|/")) == [f"{i}/6/1|/" for i in range(6)]
    assert [each for each in ran if not each.endswith("|/")] == ["//|0/3", "//|1/3", "//|2/3"]


@pytest.mark.parametrize("text", ["0/3", "4/3", "2", "a/b"])
def test_invalid_parts(text: str) -> None:
    with pytest.raises(ValueError):
        part_of(text)


def test_the_row_separates_known_failures() -> None:
    outcome = Outcome(1234, 7, {"a": "", "b": "", "c": ""})
    assert row("X", outcome, 1) == "| X | 1,234 | 2 | 1 | 7 |"
    assert HEADER.splitlines()[0].count("|") == row("X", outcome, 1).count("|")


def test_a_crash_is_not_a_pass(tmp_path: Path) -> None:
    crashing = program(tmp_path, "[  PASSED  ] 8 tests.\nSegmentation fault\n")
    with pytest.raises(CrashError, match="Segmentation fault"):
        run_cases(crashing, tmp_path / "icd.json", 1)


def test_other_programs_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "model_test"
    path.write_text(
        "#!/bin/sh\n"
        "cat <<'END'\n[  FAILED  ] Model.Runs (4 ms)\n[  PASSED  ] 6 tests.\nEND\nexit 1\n",
        encoding="utf-8",
    )
    path.chmod(0o755)
    outcome = run_tests(path, tmp_path / "icd.json", 1)
    assert (outcome.passed, outcome.skipped, [*outcome.failures]) == (6, 0, ["Model.Runs"])
    path.write_text("#!/bin/sh\nexit 139\n", encoding="utf-8")
    with pytest.raises(CrashError, match="ended with 139"):
        run_tests(path, tmp_path / "icd.json", 1)


def test_a_known_property_explains_only_its_cases() -> None:
    properties = [Property("NaN", ("exp2_f32_*/*extremes*", "selu_*"))]
    failures = ["exp2_f32_buffer/2x7_extremes", "exp2_f32_buffer/2x7"]
    assert unknown(failures, properties) == ["exp2_f32_buffer/2x7"]
    assert unused(properties) == ["selu_*"]


def test_the_list_of_swiftshader_has_reasons() -> None:
    properties = read(ROOT / "tests" / "drivers" / "swiftshader.yaml")
    assert all(len(entry.because) > 40 and entry.cases for entry in properties)
    patterns = [pattern for entry in properties for pattern in entry.cases]
    assert all({"*", "?"} & set(each) and not each.startswith("*") for each in patterns)
    # Cases of other values of fp16 images are failures.
    assert unknown(["relu_f16_texture2d/4"], properties) == []
    assert unknown(["relu_f16_texture2d/2x7x3x5"], properties) != []
