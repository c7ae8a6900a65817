"""Wrong functions of intervals, to see that tests find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spec_model.expr import intervals


@contextmanager
def replaced(name: str, function: Callable[..., Any]) -> Iterator[None]:
    """A function of intervals that computes something else."""
    operation = intervals.FUNCTIONS[name][1]
    before = operation.evaluate
    object.__setattr__(operation, "evaluate", function)
    try:
        yield
    finally:
        object.__setattr__(operation, "evaluate", before)
