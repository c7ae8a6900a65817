"""The random number generator of spirloom.sample_token, and the distribution of its samples."""

from __future__ import annotations

import numpy as np
import pytest

from op_specs.sampling import sampling


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_equals_the_published_vectors(counter: str, key: str, words: str) -> None:
    low, high = (int(word, 16) for word in key.split())
    given = np.array([[int(word, 16) for word in counter.split()]], np.uint64)
    assert [f"{word:08x}" for word in sampling.philox(given, (low, high))[0]] == words.split()


def test_tokens_are_sampled_with_their_probabilities() -> None:
    """Chi-square test with 4 degrees of freedom: below the 99.99th percentile."""
    scores = np.array([[0.0, 1.0, -1.0, 0.5, 2.0]])
    count = 20000
    drawn = sampling.sample_token(
        np.repeat(scores, count, axis=0), np.array([1.5]), np.array([0]), np.array([1.0]),
        np.array([42]), np.array([0]),
    )  # fmt: skip
    wanted = np.exp(scores[0] / 1.5)
    wanted *= count / wanted.sum()
    found = np.bincount(drawn, minlength=5)
    assert ((found - wanted) ** 2 / wanted).sum() < 23.5
