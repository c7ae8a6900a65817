"""Divides a prompt into prefill runs of few different lengths: each new length is planned and
recorded, which can take longer than the run. Equal to llm/model/prefill_chunks.h.
"""

from __future__ import annotations

from dataclasses import dataclass

# Minimum length of a padded run. Shorter runs are not faster: they read all weights too.
MIN_PREFILL = 8


@dataclass(frozen=True, slots=True)
class PrefillLimits:
    """`can_pad`: all states have a row per token, so that rows of padding can be overwritten."""

    max_prefill: int
    context: int
    can_pad: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """A run of `tokens` tokens, padded to `length`. Length 0: `decode` reads the token."""

    tokens: int
    length: int


def next_chunk(remaining: int, position: int, limits: PrefillLimits) -> Chunk:
    """The next run for a prompt of which `remaining` tokens are missing in a KV cache of
    `position` tokens. Runs are full, or have a power of two as length. The logits of a padded run
    are those of padding, so the last token of the prompt is never in a padded run.
    """
    if remaining == 1:
        return Chunk(1, 0)
    if remaining >= limits.max_prefill:
        return Chunk(limits.max_prefill, limits.max_prefill)
    if remaining == _bucket(remaining, limits):
        return Chunk(remaining, remaining)
    padded = _bucket(remaining - 1, limits)
    if limits.can_pad and padded <= limits.context - position:
        return Chunk(remaining - 1, padded)
    largest = 1 << (remaining.bit_length() - 1)
    return Chunk(largest, largest)


def _bucket(tokens: int, limits: PrefillLimits) -> int:
    return min(max(1 << (tokens - 1).bit_length(), MIN_PREFILL), limits.max_prefill)
