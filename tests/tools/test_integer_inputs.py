"""spirloom-run: integers of any width as inputs, and the bounds a graph was made for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tools.programs import Program

WIDE = [np.int64, np.uint64, np.uint32, np.int16, np.uint16]


def run(program: Program, model: Path, *numbers: int, dtype: type[np.generic]) -> str:
    """Runs on an array of numbers; the message, empty if it worked."""
    folder = model.parent
    np.save(folder / "x.npy", np.array(numbers, dtype))
    done = program(model, "--input", f"x={folder / 'x.npy'}", "--output-dir", folder)
    assert done.returncode == (2 if done.stderr else 0)
    return done.stderr


@pytest.mark.parametrize("dtype", [np.int32, *WIDE])
def test_integers_of_any_width(
    dtype: type[np.generic], spirloom_run: Program, places_model: Path
) -> None:
    assert run(spirloom_run, places_model, 0, 9, 4, dtype=dtype) == ""
    y = np.load(places_model.parent / "y.npy")
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, [0, 18, 8])


@pytest.mark.parametrize("dtype", [np.int32, *WIDE])
def test_numbers_beyond_the_bounds(
    dtype: type[np.generic], spirloom_run: Program, places_model: Path
) -> None:
    message = run(spirloom_run, places_model, 0, 10, 4, dtype=dtype)
    assert "Element 1 (10) is not between 0 and 9" in message
    assert "x.npy" in message
    assert '"x"' in message or "'x'" in message


def test_numbers_beyond_int32(spirloom_run: Program, places_model: Path) -> None:
    message = run(spirloom_run, places_model, 0, 1, -(1 << 31) - 1, dtype=np.int64)
    assert "Element 2 (-2147483649) does not fit int32" in message
    message = run(spirloom_run, places_model, 1 << 63, 1, 2, dtype=np.uint64)
    assert "Element 0 (9223372036854775808) does not fit int32" in message
