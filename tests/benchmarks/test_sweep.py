"""`./dev sweep`: compiles versions of a kernel, which a bundle times and checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spec_model import Library, SpecError
from spec_model.templates import BUILTIN_TEMPLATES, open_templates
from tools.sweep.__main__ import values_of
from tools.sweep.bundle import make_sweep
from tools.sweep.overlay import Request
from tools.sweep.spills import spilling_kernels

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SPIRLOOM_BUILD", ROOT / "build" / "release"))
CALL = "mm 70x36 36x68 f32"
GRID = "ceil_div(row_count, 32 * {quads}) * ceil_div(columns, 32 * {quads}) * 64"
SMALLER_GRID = "ceil_div(row_count, 64) * ceil_div(columns, 64) * 64"


def request(**changed: Any) -> Request:
    given: dict[str, Any] = {
        "op": "mm",
        "kernel": "tiled_scalar_32x32",
        "params": {"quads": [1, 2]},
        "keys": {"grid": GRID},
    }
    return Request(**(given | changed))


def make(tmp_path: Path, asked: Request, *calls: str) -> Path:
    (tmp_path / "work").mkdir()
    make_sweep(asked, calls, BUILD, tmp_path / "sweep", tmp_path / "work")
    return tmp_path / "sweep"


def run(directory: Path) -> tuple[int, str, dict[str, dict[str, Any]]]:
    """The exit code, the output, and the written rows by version."""
    out = directory.parent / "out.json"
    done = subprocess.run(
        [sys.executable, directory / "sweep.py", "--times", "1", "--json", out],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert out.exists(), done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    return done.returncode, done.stdout, {row["title"]: row for row in rows}


def test_two_tile_sizes(tmp_path: Path) -> None:
    code, printed, rows = run(make(tmp_path, request(), CALL))
    assert code == 0
    assert rows.keys() == {"default kernel", "quads=1", "quads=2"}
    for version, row in rows.items():
        assert row["seconds"] > 0
        assert version in printed
    assert rows["quads=1"]["error"] < 1e-5
    assert rows["quads=2"]["error"] < 1e-5
    assert "GFLOP/s" in printed


def test_an_incomplete_version_is_reported_as_wrong(tmp_path: Path) -> None:
    code, printed, rows = run(make(tmp_path, request(keys={"grid": SMALLER_GRID}), CALL))
    assert code == 1
    assert rows["quads=1"]["remark"] == "WRONG"
    assert not rows["quads=1"]["error"] <= 0.1  # elements that are not written can be NaN
    assert rows["quads=2"]["remark"] == ""
    assert printed.splitlines()[-1].endswith("WRONG")


def test_a_compile_error_is_reported(tmp_path: Path) -> None:
    params = {"tile": [[64, 64, 512], [64, 64, 32]]}
    asked = request(kernel="coopmat_64x64_emulated", params=params, keys={})
    code, printed, rows = run(make(tmp_path, asked, "64x64 64x64 f16"))
    assert code == 0
    assert "The shared variables (" in rows["tile=[64, 64, 512]"]["remark"]
    assert "The shared variables (" in printed
    assert rows["tile=[64, 64, 32]"]["error"] < 1e-2


def test_a_version_that_spills_is_not_timed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """128x128 outputs of 64 invocations: 256 accumulators each."""
    made = make(tmp_path, request(params={"quads": [1, 4]}), CALL)
    if "Mesa 26 compiles only for AMD GPUs that are present" in capsys.readouterr().err:
        pytest.skip("Mesa 26 has no compiler for absent GPUs")
    code, printed, rows = run(made)
    assert code == 0
    row = rows["quads=4"]
    assert row["remark"].startswith("spills on RDNA 2, Radeon RX 6800: ")
    assert "seconds" not in row
    assert row["remark"] in printed
    assert rows["quads=1"]["seconds"] > 0
    (tmp_path / "alone").mkdir()
    with pytest.raises(SpecError, match="No version is left to time:\\nquads=4: spills on RDNA 2"):
        make(tmp_path / "alone", request(params={"quads": [4]}), CALL)


def test_without_the_compiler_spills_are_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "spirloom-shader-stats"
    library = Library({}, (), (), open_templates([BUILTIN_TEMPLATES]))
    assert spilling_kernels(library, tmp_path / "x.slpack", program) == {}
    assert f"spills are not checked: {program} is missing" in capsys.readouterr().err


def test_an_unsupported_version_is_reported(tmp_path: Path) -> None:
    asked = request(kernel="coopmat_64x64", params={"tile": [[64, 64, 64]]}, keys={})
    _, _, rows = run(make(tmp_path, asked, "64x64 64x64 f16"))
    row = rows["tile=[64, 64, 64]"]
    assert "cooperative_matrix" in row["remark"] or row["error"] < 1e-2


def test_packed_weights_and_absent_tensors(tmp_path: Path) -> None:
    asked = request(op="linear", params={"quads": [1]}, keys={})
    code, _, rows = run(make(tmp_path, asked, "33x64 96x64 - f16"))
    assert code == 0
    assert 0 <= rows["quads=1"]["error"] < 2e-3


@pytest.mark.parametrize(
    ("changed", "call", "message"),
    [
        ({"op": "mmm"}, CALL, "There is no spec of 'mmm'"),
        ({"kernel": "huge"}, CALL, "no kernel 'huge'; the spec has: mm_subgroup_aligned, "),
        ({"params": {"quods": [1]}, "keys": {}}, CALL, "Param 'quods' is unknown"),
        ({"keys": {"grid": "{tile} * 64"}}, CALL, "--key grid: error: '{tile} \\* 64' cannot be"),
        ({}, "70x36 36x68", "Expected one dtype, .*; found 0"),
        ({}, "70x36 37x68 f32", "Invalid call of aten.mm: "),
        ({}, "70x36 36x68 5 f32", "has no further tensor argument for '5'"),
        ({}, "70x36 36x68 i32", "has no variant for the dtypes of the calls: i32"),
        ({}, "70x0 0x68 f32", "No version supports this call"),
    ],
)
def test_invalid_requests_are_reported(
    tmp_path: Path, changed: dict[str, Any], call: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        make(tmp_path, request(**changed), call)


def test_values_of_a_param() -> None:
    assert values_of("1,2") == [1, 2]
    assert values_of("[64, 32],[32, 32]") == [[64, 32], [32, 32]]
