"""Text from files, made safe to print."""

from __future__ import annotations


def shown(text: str) -> str:
    """The text on one line: escapes stand for what is not printable, as for a terminal's controls
    and for what would turn the direction of writing."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else ascii(letter)[1:-1]


def in_bytes(count: float) -> str:
    """4.1 kB, 3 B."""
    return _in_units(count, "B")


def in_flops(count: float) -> str:
    """2.3 MFLOP, 12 FLOP."""
    return _in_units(count, "FLOP")


def _in_units(count: float, unit: str) -> str:
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{count / factor:.1f} {prefix}{unit}"
    return f"{count:.0f} {unit}"


def bytes_text(count: float) -> str:
    """A size for people, e.g. 13.6 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
