"""Markdown text for the generated pages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def write_if_changed(path: Path, text: str) -> None:
    """Writes `text`, unless the file has it: the build then reads the page again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; cells may hold any inline Markdown."""
    titles = list(head)
    lines: list[Iterable[str]] = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def code(text: str) -> str:
    """Inline code, whatever characters the text has; without any for no text."""
    text = " ".join(text.split())
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def escaped(text: str) -> str:
    """Plain text in which Markdown sees no markup."""
    for character in "\\`*_{}[]<>#|$~":
        text = text.replace(character, "\\" + character)
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
