"""Learns the vocabulary of a text: bytes, and the pairs of tokens that are most frequent in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

from examples.story.tokenizer import byte_symbols, symbols, words

Pair = tuple[str, str]


def learn(text: str, size: int) -> tuple[dict[str, int], list[Pair]]:
    """A vocabulary of `size` tokens, and the merges that make them, in order."""
    counts = Counter(words(text))
    spelled = {word: symbols(word) for word in counts}
    pairs: Counter[Pair] = Counter()
    places: defaultdict[Pair, set[str]] = defaultdict(set)
    for word, parts in spelled.items():
        for pair in pairwise(parts):
            pairs[pair] += counts[word]
            places[pair].add(word)
    merges: list[Pair] = []
    while len(merges) < size - 256:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for word in places.pop(best):
            parts, joined = spelled[word], _joined(spelled[word], best)
            for pair in pairwise(parts):
                pairs[pair] -= counts[word]
            for pair in pairwise(joined):
                pairs[pair] += counts[word]
                places[pair].add(word)
            spelled[word] = joined
        del pairs[best]
    tokens = [*byte_symbols(), *(a + b for a, b in merges)]
    return {token: number for number, token in enumerate(tokens)}, merges


def _joined(parts: list[str], pair: Pair) -> list[str]:
    result: list[str] = []
    at = 0
    while at < len(parts):
        both = tuple(parts[at : at + 2]) == pair
        result.append(parts[at] + parts[at + 1] if both else parts[at])
        at += 2 if both else 1
    return result
