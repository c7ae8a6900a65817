"""The choice of a token, by the Gumbel-max trick on a counter-based generator."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_WORD = 0xFFFFFFFF


def philox(counter: Array, key: tuple[int, int]) -> Array:
    """Philox4x32-10 (Salmon et al., 2011) of counters [n, 4]: as many words each."""
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


def noise(count: int, position: int, seed: int) -> Array:
    """Of each token, a number of the standard Gumbel distribution."""
    counter = np.zeros((-(-count // 4), 4), np.uint64)
    counter[:, 0] = np.arange(len(counter))
    counter[:, 1] = position & _WORD
    words = philox(counter, (seed & _WORD, 0)).reshape(-1)[:count]
    return np.asarray(-np.log(-np.log1p(-(words.astype(np.float64) + 0.5) / 2.0**32)))


def kept(scores: Array, top_k: int, top_p: float) -> Array:
    """Whether each token may be chosen, of scores already divided by the temperature."""
    stays = np.ones(len(scores), np.bool_)
    if 0 < top_k < len(scores):
        stays = scores >= np.sort(scores)[-top_k]
    if top_p < 1:
        weights = np.where(stays, np.exp(scores - scores.max()), 0)
        above = np.array([weights[scores > score].sum() for score in scores])
        stays &= (above < top_p * weights.sum()) | (scores == scores.max())
    return stays


def sample_token(
    scores: Array, temperature: Array, top_k: Array, top_p: Array, seed: Array, position: Array
) -> Array:
    """The first token of the greatest score, or of the greatest sum of score and noise."""
    if temperature[0] <= 0:
        return np.asarray(scores.argmax(-1))
    chosen = []
    for row, own in enumerate(scores / temperature[0]):
        stays = kept(own, int(top_k[0]), float(top_p[0]))
        noisy = own + noise(len(own), int(position[0]) + row, int(seed[0]))
        chosen.append(np.where(stays, noisy, -np.inf).argmax())
    return np.array(chosen, np.int64).reshape(len(scores))
