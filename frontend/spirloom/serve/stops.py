"""Text that ends before some others, known while it comes in pieces."""

from __future__ import annotations

from collections.abc import Collection


class Stops:
    """Takes pieces of a text and gives what stands before the text that stops it.

    That is the one that is whole first, however the pieces are cut. What may be the beginning of
    one is held back until more is known.
    """

    def __init__(self, texts: Collection[str]) -> None:
        """None of the texts is empty."""
        self._texts = texts
        self._held = ""
        self.found = False

    def add(self, piece: str) -> str:
        """What can be said now; nothing more once one is found."""
        if self.found:
            return ""
        text = self._held + piece
        found = [(at + len(stop), at) for stop in self._texts if (at := text.find(stop)) >= 0]
        if found:
            self.found, self._held = True, ""
            return text[: min(found)[1]]
        end = len(text) - max((_begun(text, stop) for stop in self._texts), default=0)
        self._held = text[end:]
        return text[:end]

    def rest(self) -> str:
        """What was held back, as the text has ended."""
        held, self._held = self._held, ""
        return held


def _begun(text: str, stop: str) -> int:
    """How many of its first letters the text ends with; less than all."""
    most = min(len(text), len(stop) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(stop[:size])), 0)
