"""What the oracles share: arrays as files, and the comparison of results."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
from spirloom.ir import Array
from spirloom.op_library import OpLibrary

LIBRARY = OpLibrary()


def packed_arrays(arrays: Mapping[str, Array]) -> bytes:
    """Arrays as an .npz file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]  # no array is named allow_pickle
    return stream.getvalue()


def arrays_of(data: bytes) -> dict[str, Array]:
    """The arrays of an .npz file, by name."""
    with np.load(io.BytesIO(data)) as arrays:
        return dict(arrays)


def check_close(
    found: Sequence[Array],
    expected: Sequence[Array],
    rtol: float = 1e-4,
    atol: float = 1e-5,
    steps: int = 0,
) -> None:
    """Raises AssertionError if shapes differ, floats by more than rounding in float32, or integers
    by more than `steps`."""
    assert [f.shape for f in found] == [e.shape for e in expected]
    for ours, theirs in zip(found, expected, strict=True):
        if theirs.dtype.kind == "f":
            finite = theirs[np.isfinite(theirs)]
            scale = float(np.abs(finite).max(initial=0))
            np.testing.assert_allclose(ours, theirs, rtol, max(atol, 1e-5 * scale))
        elif steps:
            ours, theirs = ours.astype(np.int64), theirs.astype(np.int64)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=steps)
        else:
            np.testing.assert_array_equal(ours, theirs)
