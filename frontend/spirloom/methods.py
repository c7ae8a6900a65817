"""Methods: several graphs of one file, over the same constants and states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.ir import Graph, State

# Of a file, as the runtime reads them.
MOST = 64


def check_methods(methods: Sequence[Graph]) -> None:
    """Raises ImportFailure unless the graphs can be the methods of one file."""
    names = [method.name for method in methods]
    if len(methods) > MOST:
        raise ImportFailure(f"A file has at most {MOST} methods, not {len(methods)}.")
    for name in names if len(names) > 1 else ():
        if not name or names.count(name) > 1:
            raise ImportFailure(f"The method name {name!r} stands for two methods, or for none.")
    found: dict[str, tuple[Graph, State]] = {}
    for method in methods:
        for state in method.states:
            first, known = found.setdefault(state.tensor.name, (method, state))
            if not _same(known, state):
                raise ImportFailure(
                    f"State {state.tensor.name!r} is {known.tensor} in method {first.name!r}, and "
                    f"{state.tensor} with another type or initial value in {method.name!r}."
                )


def _same(a: State, b: State) -> bool:
    if (a.tensor.dtype, a.tensor.shape) != (b.tensor.dtype, b.tensor.shape):
        return False
    if a.initial is None or b.initial is None:
        return a.initial is b.initial
    return a.initial is b.initial or np.array_equal(a.initial, b.initial)
