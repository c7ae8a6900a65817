"""Runs a Markdown page: writes its files, executes its commands, and checks their output.

The info string of a fenced block defines its type. `sh`: commands. `sh fails`: commands, the last
of which must fail. `LANGUAGE PATH`: the content of a file. `text` after commands: what they print,
in which a line `…` stands for any lines. `text parts`: parts of it, in this order.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ANY = "…"
_FENCE = re.compile(r"^```(?P<info>[^\n]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the words of its info string, and its text."""

    words: tuple[str, ...]
    text: str


def section(page: Path, heading: str) -> Iterator[Block]:
    """Yields the blocks below a heading of level two."""
    _, found, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert found, f"{page} has no section '{heading}'."
    body, _, _ = rest.partition("\n## ")
    for match in _FENCE.finditer(body):
        yield Block(tuple(match["info"].split()), match["text"])


def run(page: Path, heading: str, directory: Path, environment: Mapping[str, str]) -> None:
    """Executes the blocks of a section in a directory."""
    printed = ""
    for block in section(page, heading):
        match block.words:
            case ("sh",):
                printed = _execute(block.text, directory, environment, fails=False)
            case ("sh", "fails"):
                printed = _execute(block.text, directory, environment, fails=True)
            case ("text",):
                _expect_lines(block.text, printed)
            case ("text", "parts"):
                _expect_parts(block.text, printed)
            case (_, path):
                (directory / path).parent.mkdir(parents=True, exist_ok=True)
                (directory / path).write_text(block.text, encoding="utf-8")
            case other:
                raise AssertionError(f"{page}: the info string '{' '.join(other)}' is unknown.")


def _execute(text: str, directory: Path, environment: Mapping[str, str], fails: bool) -> str:
    """Executes commands and returns their output."""
    printed = ""
    *before, last = text.splitlines()
    for command, may_fail in [*((c, False) for c in before), (last, fails)]:
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        printed += done.stdout
        assert (done.returncode != 0) == may_fail, f"{command}: {done.returncode}\n{done.stdout}"
    return printed


def _expect_parts(text: str, printed: str) -> None:
    position = 0
    for line in text.splitlines():
        found = printed.find(line, position)
        assert found >= 0, f"The output lacks '{line}', or has it in another order:\n{printed}"
        position = found + len(line)


def _expect_lines(text: str, printed: str) -> None:
    """Lines end where gtest prints the time that a test took."""
    lines = [re.sub(r" \(\d+ ms\)$", "", line) for line in printed.splitlines()]
    parts = [re.escape(line) for line in text.splitlines()]
    pattern = (
        r"\n".join(parts)
        .replace(rf"{re.escape(ANY)}\n", r"(?:.*\n)*?")
        .replace(rf"\n{re.escape(ANY)}", r"(?:\n.*)*?")
    )
    assert re.fullmatch(pattern, "\n".join(lines)), f"Expected:\n{text}\nPrinted:\n{printed}"
