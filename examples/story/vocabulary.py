"""Learns a byte-level BPE vocabulary: bytes, then the most frequent pairs of tokens of a text."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

from examples.story.tokenizer import byte_symbols, symbols, words

Pair = tuple[str, str]


def learn(text: str, size: int) -> tuple[dict[str, int], list[Pair]]:
    """Returns a vocabulary of `size` tokens, and the merges in the order of learning."""
    counts = Counter(words(text))
    symbols_of = {word: symbols(word) for word in counts}
    pairs: Counter[Pair] = Counter()
    words_with: defaultdict[Pair, set[str]] = defaultdict(set)
    for word, parts in symbols_of.items():
        for pair in pairwise(parts):
            pairs[pair] += counts[word]
            words_with[pair].add(word)
    merges: list[Pair] = []
    while len(merges) < size - 256:
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        for word in words_with.pop(best):
            parts, joined = symbols_of[word], _joined(symbols_of[word], best)
            for pair in pairwise(parts):
                pairs[pair] -= counts[word]
            for pair in pairwise(joined):
                pairs[pair] += counts[word]
                words_with[pair].add(word)
            symbols_of[word] = joined
        del pairs[best]
    tokens = [*byte_symbols(), *(a + b for a, b in merges)]
    return {token: index for index, token in enumerate(tokens)}, merges


def _joined(parts: list[str], pair: Pair) -> list[str]:
    result: list[str] = []
    at = 0
    while at < len(parts):
        both = tuple(parts[at : at + 2]) == pair
        result.append(parts[at] + parts[at + 1] if both else parts[at])
        at += 2 if both else 1
    return result
