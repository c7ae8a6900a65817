"""The six novels of Jane Austen, as Debian's package r-cran-janeaustenr has them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "r-cran-janeaustenr"
PLACE = Path("/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb")

# R's serialised objects: a vector of strings, and a string.
_STRINGS, _STRING = 16, 9


def read_novels(path: Path = PLACE) -> str:
    """Their paragraphs, a line each. FileNotFoundError names the package that is missing."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: apt-get install {PACKAGE}")
    novels = [_lines(serialised) for serialised in _objects(path.read_bytes())]
    return "\n".join(paragraph for lines in novels for paragraph in _paragraphs(lines)) + "\n"


def _objects(data: bytes) -> Iterator[bytes]:
    """What the file holds: objects one after the other, each with its size before it."""
    while data:
        unpacker = zlib.decompressobj()
        yield unpacker.decompress(data[4:])
        data = unpacker.unused_data


def _lines(serialised: bytes) -> list[str]:
    """The strings of a vector in R's format 3, big-endian."""
    (encoding,) = struct.unpack_from(">i", serialised, 14)
    kind, count = struct.unpack_from(">2i", serialised, 18 + encoding)
    if kind & 255 != _STRINGS:
        raise ValueError(f"an object of R of kind {kind & 255} is no vector of strings")
    lines, at = [], 26 + encoding
    for _ in range(count):
        flags, size = struct.unpack_from(">2i", serialised, at)
        if flags & 255 != _STRING:
            raise ValueError(f"an object of R of kind {flags & 255} is no string")
        at += 8 + max(size, 0)
        lines.append(serialised[at - max(size, 0) : at].decode("utf-8"))
    return lines


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Joined from lines; those between are empty. Headings and marks of italics are left out."""
    for block in "\n".join(line.strip() for line in lines).split("\n\n"):
        paragraph = " ".join(block.split()).replace("_", "")
        heading = paragraph.upper() == paragraph or paragraph.startswith(("Chapter", "By Jane"))
        if paragraph and not heading:
            yield paragraph
