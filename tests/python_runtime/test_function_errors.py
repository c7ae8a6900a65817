"""The errors of elementwise functions on this device are at most those guaranteed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom

from tests.sample import part

# They import torch.
functions = pytest.importorskip("tools.function_errors.functions")
measure = pytest.importorskip("tools.function_errors.measure")
page = pytest.importorskip("tools.function_errors.page")

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/function-errors.md"


CASES = [pytest.param(each, id=each.name) for each in part(functions.FUNCTIONS, 4)]


@pytest.mark.parametrize("function", CASES)
def test_errors_are_within_the_guarantee(runtime: spirloom.Runtime, function: Any) -> None:
    for dtype in measure.DTYPES:
        row = measure.Row(function, dtype, measure.measure(runtime, function, dtype))
        assert row.holds, row


def test_the_page_has_all_functions() -> None:
    text = PAGE.read_text()
    for function in functions.FUNCTIONS:
        unit = " (absolute)" if function.absolute else ""
        row = f"| `{function.name}` | {function.f32:g}{unit} | "
        assert row in text, "Run `.venv/bin/python3 -m tools.function_errors`."
        assert not function.because or f"- `{function.name}`: {function.because}." in text


def test_ulps_at_the_limits() -> None:
    computed = np.array([np.inf, np.nan, 0, 1 + 2**-23, np.inf, -0.0], np.float32)
    exact = np.array([2.0**128, 1, 1e-39, 1, 2.0**128 - 2.0**104, np.nan])
    expected = [0, np.inf, 0, 1, 1, np.inf]
    assert measure.ulps(computed, exact, exact, np.ones(6)).tolist() == expected


def test_sections_are_replaced() -> None:
    text = page.with_section(page.with_section("# Errors\n", "a", "1"), "b", "2")
    assert page.with_section(text, "a", "3") == "# Errors\n\n## a\n\n3\n\n## b\n\n2\n"
