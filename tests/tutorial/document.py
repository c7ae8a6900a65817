"""A Markdown page that can be run: its files, its commands, and what they print.

A fenced block says what it is after the dashes: `sh` are commands, `sh fails` commands the last of
which fails, `LANGUAGE PATH` the contents of a file. `text` after commands are lines that they
print, in this order among others.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(?P<info>[^\n]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its words after the fence, and its text."""

    words: tuple[str, ...]
    text: str


def section(page: Path, heading: str) -> Iterator[Block]:
    """The blocks below a heading of the second level."""
    _, found, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    assert found, f"{page} has no section '{heading}'."
    body, _, _ = rest.partition("\n## ")
    for match in _FENCE.finditer(body):
        yield Block(tuple(match["info"].split()), match["text"])


def run(page: Path, heading: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Does what a section says, in a folder."""
    printed = ""
    for block in section(page, heading):
        match block.words:
            case ("sh",):
                printed = _execute(block.text, folder, environment, fails=False)
            case ("sh", "fails"):
                printed = _execute(block.text, folder, environment, fails=True)
            case ("text",):
                _expect_lines(block.text, printed)
            case (_, path):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(block.text, encoding="utf-8")
            case other:
                raise AssertionError(f"{page}: a block of {' '.join(other)} means nothing.")


def _execute(text: str, folder: Path, environment: Mapping[str, str], fails: bool) -> str:
    """What the commands print."""
    printed = ""
    *before, last = text.splitlines()
    for command, may_fail in [*((c, False) for c in before), (last, fails)]:
        done = subprocess.run(
            ["bash", "-euc", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        printed += done.stdout
        assert (done.returncode != 0) == may_fail, f"{command}: {done.returncode}\n{done.stdout}"
    return printed


def _expect_lines(text: str, printed: str) -> None:
    place = 0
    for line in text.splitlines():
        found = printed.find(line, place)
        assert found >= 0, f"'{line}' is not printed, or not in this order:\n{printed}"
        place = found + len(line)
