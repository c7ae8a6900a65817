"""Typical values of operands of one element, such as sampling parameters: those of test cases."""

from __future__ import annotations

from functools import cache
from statistics import median_high

from benchmarks.calls import library
from spec_model import Library
from spec_model.spec import TensorCase


@cache
def _specs() -> Library:
    return library()


@cache
def typical_values(op: str) -> dict[str, float]:
    """By name: the median of the values in the test cases that are not 0, for the arguments that
    have one element with a stated value in all test cases."""
    spec = _specs().ops[op]
    cases = {arg.name: [test.args[arg.name] for test in spec.tests] for arg in spec.args}
    found = {}
    for name, tensors in cases.items():
        stated = [t for t in tensors if isinstance(t, TensorCase) and t.shape == (1,)]
        values = [tensor.values[0] for tensor in stated if tensor.values]
        if values and len(values) == len(tensors):
            found[name] = median_high([value for value in values if value != 0] or [0.0])
    return found
