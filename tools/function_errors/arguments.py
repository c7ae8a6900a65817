"""The arguments of a sweep: every fp16 value, and a million fp32 values."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
_SEED = 20_11
_EDGES = np.array(
    """
    0 1e-45 1.1754942e-38 1.1754944e-38 1e-30 1e-19 1e-9 0.1 0.25 0.5 0.70710677 0.99999994 1
    1.0000001 1.4142135 1.5 2 2.5 3 7 8 10 20 64 88.72283 88.72284 103.9 127 128 1000 65504 65520
    8388607.5 16777216 1e10 1e19 1.8446743e19 8.5e37 3.4028235e38 inf nan
    """.split(),
    np.float32,
)


@cache
def unary(dtype: str) -> tuple[Floats, ...]:
    """The values of a function of one operand."""
    if dtype == "float16":
        return (np.arange(1 << 16, dtype=np.uint16).view(np.float16),)
    random = np.random.default_rng(_SEED)
    # All exponents and signs alike; every bfloat16 value is one of the fp32 values.
    bits = random.integers(0, 1 << 32, 500_000, dtype=np.uint32)
    bfloat16 = np.arange(1 << 16, dtype=np.uint32) << 16
    near_1 = np.uint32(0x3F800000) + np.arange(-50_000, 50_000, dtype=np.int64)
    pi = np.concatenate([np.arange(1, 4000), 2.0 ** np.arange(12, 60)]) * (np.pi / 2)
    nearest = pi.astype(np.float32).view(np.uint32).astype(np.int64)
    near_pi = (nearest[:, None] + np.arange(-4, 5)).ravel()
    uniform = [random.uniform(-high, high, 80_000) for high in (1, 2, 10, 110)]
    halves = random.normal(0.5, 0.01, 40_000)
    values = np.concatenate(
        [
            *(
                each.astype(np.uint32).view(np.float32)
                for each in (bits, bfloat16, near_1, near_pi)
            ),
            *(each.astype(np.float32) for each in (*uniform, halves)),
            _EDGES,
        ]
    )
    return (np.concatenate([values, -values[-200_000:]]),)


@cache
def binary(dtype: str) -> tuple[Floats, ...]:
    """Pairs of values of a function of two operands: independent, similar, and near 1 with large
    exponents.
    """
    random = np.random.default_rng(_SEED)
    width, count = (16, 1 << 16) if dtype == "float16" else (32, 1 << 17)

    def patterns(n: int) -> Floats:
        values = random.integers(0, 1 << width, n, dtype=np.uint64)
        return values.astype(f"uint{width}").view(dtype)

    a, b = patterns(count), patterns(count)
    uniform = [random.uniform(-10, 10, count) for _ in range(2)]
    near = 1 + random.normal(0, 1, count) * 2.0 ** -random.uniform(1, 23, count)
    exponents = random.uniform(-90, 90, count) / np.log(np.maximum(near, 1e-3))
    edges = np.concatenate([_EDGES, -_EDGES])
    first, second = (each.ravel() for each in np.meshgrid(edges, edges))
    similar = a * (1 + random.normal(0, 1e-3, count))
    with np.errstate(all="ignore"):
        return (
            np.concatenate([a, a, uniform[0], np.abs(uniform[0]), near, first]).astype(dtype),
            np.concatenate([b, similar, uniform[1], uniform[1], exponents, second]).astype(dtype),
        )
