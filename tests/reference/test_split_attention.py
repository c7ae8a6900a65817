"""The split attention of `spirloom.decode_attention_partials` is that of the complete KV cache."""

from __future__ import annotations

import numpy as np
import pytest

from op_specs.attention import attention

RNG = np.random.default_rng(7)
DEPTH, KV_HEADS, HEADS = 8, 2, 4


def combined(partials: attention.Array) -> attention.Array:
    """The attention of all splits, [batch, 1, head, depth]."""
    sums, top, weights = partials[..., :-8], partials[..., -8:-7], partials[..., -7:-6]
    scale = np.exp(top - top.max(2, keepdims=True))
    y = (sums * scale).sum(2) / (weights * scale).sum(2)
    return np.asarray(y[:, None])


@pytest.mark.parametrize("splits", [1, 2, 3, 16])
@pytest.mark.parametrize("window", [0, 1, 33, 70])
@pytest.mark.parametrize("position", [0, 31, 32, 33, 64, 65, 129, 199])
def test_splits_contain_each_visible_row_once(splits: int, window: int, position: int) -> None:
    def random(*shape: int) -> attention.Array:
        return np.asarray(RNG.uniform(-2, 2, shape))

    x = random(2, 1, (HEADS + 2 * KV_HEADS) * DEPTH)
    keys, values = (random(2, 200, KV_HEADS, DEPTH) for _ in range(2))
    cos, sin = (random(200, DEPTH // 2) for _ in range(2))
    given = (x, keys, values, cos, sin, np.array([position]), None, None, 1e-6, False, window)
    partials = attention.decode_attention_partials(*given, 0.0, 0.0, splits, 1)
    assert partials.shape == (2, HEADS, splits, DEPTH + 8)
    expected = attention.decode_attention(*given, 0.0, 0.0)[0]
    np.testing.assert_allclose(combined(partials), expected, atol=1e-12)
