"""Text from files, made safe to print."""

from __future__ import annotations


def shown(text: str) -> str:
    """The text on one line: escapes stand for what is not printable, as for a terminal's controls
    and for what would turn the direction of writing."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else ascii(letter)[1:-1]
