"""spirloom-run: inputs of all integer and float types, bounds, and random inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tools.programs import AddModel, Program

WIDE = [np.int64, np.uint64, np.uint32, np.int16, np.uint16]


def run(program: Program, model: Path, *values: int, dtype: type[np.generic]) -> str:
    """Runs on an array of values. Returns the error message, empty on success."""
    directory = model.parent
    np.save(directory / "x.npy", np.array(values, dtype))
    done = program(model, "--input", f"x={directory / 'x.npy'}", "--output-dir", directory)
    assert done.returncode == (2 if done.stderr else 0)
    return done.stderr


@pytest.mark.parametrize("dtype", [np.int32, *WIDE])
def test_integers_of_any_width(
    dtype: type[np.generic], spirloom_run: Program, index_model: Path
) -> None:
    assert run(spirloom_run, index_model, 0, 9, 4, dtype=dtype) == ""
    y = np.load(index_model.parent / "y.npy")
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, [0, 18, 8])


@pytest.mark.parametrize("dtype", [np.int32, *WIDE])
def test_values_outside_the_bounds(
    dtype: type[np.generic], spirloom_run: Program, index_model: Path
) -> None:
    message = run(spirloom_run, index_model, 0, 10, 4, dtype=dtype)
    assert "Element 1 (10) is not between 0 and 9" in message
    assert "x.npy" in message
    assert '"x"' in message or "'x'" in message


def test_values_outside_int32(spirloom_run: Program, index_model: Path) -> None:
    message = run(spirloom_run, index_model, 0, 1, -(1 << 31) - 1, dtype=np.int64)
    assert "Element 2 (-2147483649) does not fit int32" in message
    message = run(spirloom_run, index_model, 1 << 63, 1, 2, dtype=np.uint64)
    assert "Element 0 (9223372036854775808) does not fit int32" in message


def test_float64_is_rounded(spirloom_run: Program, add_model: AddModel) -> None:
    values = np.array([[0.1, 1 / 3, np.nan], [np.inf, -1e300, 0]])
    message = spirloom_run(*add_model.with_a(values)).stderr
    assert "Element 4 (-1" in message
    assert "does not fit float32" in message
    values[1, 1] = 1e-300
    np.save(add_model.directory / "b.npy", np.zeros((2, 3)))
    out = add_model.directory / "out"
    done = spirloom_run(*add_model.with_a(values), "--output-dir", out)
    assert done.returncode == 0, done.stderr
    (written,) = out.glob("*.npy")
    np.testing.assert_array_equal(np.load(written), values.astype(np.float32))


def test_random_inputs_are_within_bounds(spirloom_run: Program, index_model: Path) -> None:
    directory = index_model.parent
    found = []
    for seed in range(20):
        done = spirloom_run(index_model, "--output-dir", directory, "--seed", str(seed))
        assert done.returncode == 0, done.stderr
        found.append(np.load(directory / "y.npy") // 2)
    values = np.concatenate(found)
    assert values.min() >= 0
    assert values.max() <= 9
    assert len(set(values)) > 5
    done = spirloom_run(index_model, "--output-dir", directory, "--random")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(directory / "y.npy") // 2, found[0])


def test_random_inputs_with_specified_ones(spirloom_run: Program, add_model: AddModel) -> None:
    np.save(add_model.directory / "a.npy", np.full((2, 3), 100, np.float32))
    out = add_model.directory / "out"
    specified = f"a={add_model.directory / 'a.npy'}"
    done = spirloom_run(add_model.model, "--input", specified, "--output-dir", out, "--seed", "7")
    assert done.returncode == 0, done.stderr
    (written,) = out.glob("*.npy")
    off = np.load(written) - 100
    assert (np.abs(off) <= 1).all()
    assert np.unique(off).size == 6
    done = spirloom_run(add_model.model, "--input", specified)
    assert "Add --input b=FILE.npy or --random." in done.stderr
