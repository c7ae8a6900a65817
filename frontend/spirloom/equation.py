"""The equation of an Einstein sum: labels for the dimensions of each operand and of the output."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spirloom.ops import OpError

# A label is a letter, or "...N" for the dimension that an ellipsis has N places from its right end.
Labels = tuple[str, ...]

_TERM = re.compile(r"[A-Za-z]*(\.\.\.[A-Za-z]*)?")


@dataclass(frozen=True, slots=True)
class Equation:
    """One label for every dimension."""

    operands: tuple[Labels, ...]
    output: Labels

    @classmethod
    def parse(cls, text: str, ranks: Sequence[int]) -> Equation:
        """The equation for operands of these ranks; OpError if it does not fit them."""
        inputs, arrow, output = "".join(text.split()).partition("->")
        words = inputs.split(",")
        if not all(_TERM.fullmatch(word) for word in (*words, output)):
            raise OpError(f"its equation '{text}' is malformed")
        if len(words) != len(ranks):
            raise OpError(f"its equation '{text}' is for {len(words)} operands, not {len(ranks)}")
        operands = tuple(_labels(word, rank, text) for word, rank in zip(words, ranks, strict=True))
        hidden = max((_ellipsis_rank(labels) for labels in operands), default=0)
        if not arrow:
            return cls(operands, (*_ellipsis(hidden), *_once(inputs)))
        explicit = output.replace("...", "")
        rank = len(explicit) + (hidden if "..." in output else 0)
        result = _labels(output, rank, text)
        unknown = sorted({label for label in result if not any(label in o for o in operands)})
        if unknown or len(set(result)) != len(result):
            raise OpError(f"its equation '{text}' has no such output")
        return cls(operands, result)

    def sizes(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """The size of each label, after broadcasting; OpError if two sizes contradict."""
        found: dict[str, int] = {}
        for labels, shape in zip(self.operands, shapes, strict=True):
            for label, size in zip(labels, shape, strict=True):
                known = found.get(label, 1)
                if size != known and 1 not in (size, known):
                    raise OpError(f"its dimension '{label}' is both {known} and {size}")
                found[label] = size if known == 1 else known
        return found


def _labels(word: str, rank: int, equation: str) -> Labels:
    """The labels of a word such as `a...b`."""
    before, dots, after = word.partition("...")
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        raise OpError(f"'{word}' of its equation '{equation}' does not fit rank {rank}")
    return (*before, *_ellipsis(hidden), *after)


def _ellipsis(rank: int) -> Labels:
    return tuple(f"...{d}" for d in reversed(range(rank)))


def _ellipsis_rank(labels: Labels) -> int:
    return sum(label.startswith("...") for label in labels)


def _once(inputs: str) -> list[str]:
    """The letters that occur once, in order: the output that is not spelled out."""
    return sorted(letter for letter in set(inputs) - set(".,") if inputs.count(letter) == 1)
