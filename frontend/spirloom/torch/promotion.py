"""The element type that several values are computed in: torch's rules of type promotion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_ORDER = "biuf"
_DEFAULTS = {"b": np.bool_, "i": np.int64, "f": np.float32}


def promoted(values: Sequence[tuple[np.dtype[Any], int | None]]) -> np.dtype[Any]:
    """Of types with their ranks; None is the rank of a plain number.

    Tensors of a rank count before those without, and these before plain numbers: others only raise
    the kind, from bools to integers to floats.
    """
    result: np.dtype[Any] | None = None
    for chosen in (
        [d for d, rank in values if rank],
        [d for d, rank in values if rank == 0],
        [np.dtype(_DEFAULTS[_kind(d)]) for d, rank in values if rank is None],
    ):
        if not chosen:
            continue
        best = max(_ORDER.index(_kind(d)) for d in chosen)
        within = [d for d in chosen if _ORDER.index(_kind(d)) == best]
        own = within[0]
        for other in within[1:]:
            own = np.promote_types(own, other)
        if result is None or best > _ORDER.index(_kind(result)):
            result = own
    assert result is not None
    return result


def _kind(dtype: np.dtype[Any]) -> str:
    return "i" if dtype.kind == "u" else dtype.kind
