"""Token sampling: the Gumbel-max trick with a counter-based random generator."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF


def philox(counter: Array, key: tuple[int, int]) -> Array:
    """Philox4x32-10 (Salmon et al., 2011): four random words per counter [n, 4]."""
    a, b, c, d = (counter[:, i].astype(np.uint64) for i in range(4))
    low, high = key
    for _ in range(10):
        first, second = a * np.uint64(_MULTIPLIERS[0]), c * np.uint64(_MULTIPLIERS[1])
        a, b, c, d = (
            (second >> np.uint64(32)) ^ b ^ np.uint64(low),
            second & np.uint64(_WORD),
            (first >> np.uint64(32)) ^ d ^ np.uint64(high),
            first & np.uint64(_WORD),
        )
        low, high = (low + _KEY_STEPS[0]) & _WORD, (high + _KEY_STEPS[1]) & _WORD
    return np.stack([a, b, c, d], axis=1)


def gumbel_noise(count: int, position: int, seed: int) -> Array:
    """One sample of the standard Gumbel distribution per token."""
    counter = np.zeros((-(-count // 4), 4), np.uint64)
    counter[:, 0] = np.arange(len(counter))
    counter[:, 1] = position & _WORD
    words = philox(counter, (seed & _WORD, 0)).reshape(-1)[:count]
    return np.asarray(-np.log(-np.log1p(-(words.astype(np.float64) + 0.5) / 2.0**32)))


def candidates(scores: Array, top_k: int, top_p: float) -> Array:
    """A mask of the tokens that top-k and top-p keep, of scores divided by the temperature."""
    mask = np.ones(len(scores), np.bool_)
    if 0 < top_k < len(scores):
        mask = scores >= np.sort(scores)[-top_k]
    if top_p < 1:
        weights = np.where(mask, np.exp(scores - scores.max()), 0)
        above = np.array([weights[scores > score].sum() for score in scores])
        mask &= (above < top_p * weights.sum()) | (scores == scores.max())
    return mask


def sample_token(
    scores: Array, temperature: Array, top_k: Array, top_p: Array, seed: Array, position: Array
) -> Array:
    """Greedy decoding at temperature 0, otherwise the argmax of score + Gumbel noise."""
    if temperature[0] <= 0:
        return np.asarray(scores.argmax(-1))
    tokens = []
    for row, scaled in enumerate(scores / temperature[0]):
        mask = candidates(scaled, int(top_k[0]), float(top_p[0]))
        noisy = scaled + gumbel_noise(len(scaled), int(position[0]) + row, int(seed[0]))
        tokens.append(np.where(mask, noisy, -np.inf).argmax())
    return np.array(tokens, np.int64).reshape(len(scores))


def random_uniform(state: Array, size: list[int]) -> Array:
    """Uniform numbers in [0, 1), of the upper 24 bits of each word."""
    count = int(np.prod(size, dtype=np.int64))
    words = (state & _WORD).astype(np.uint64)
    counter = np.zeros((-(-count // 4), 4), np.uint64)
    counter[:, 0] = np.arange(len(counter))
    counter[:, 2:] = words[2:]
    drawn = philox(counter, (int(words[0]), int(words[1]))).reshape(-1)[:count]
    return np.asarray((drawn >> np.uint64(8)).astype(np.float64) * 2.0**-24).reshape(size)
