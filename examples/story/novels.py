"""Reads the six novels of Jane Austen from Debian's package r-cran-janeaustenr."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "r-cran-janeaustenr"
DATA_FILE = Path("/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb")

# Type codes of R's serialization format: a vector of strings, and a string.
_STRINGS, _STRING = 16, 9


def read_novels(path: Path = DATA_FILE) -> str:
    """Returns the paragraphs, one per line. FileNotFoundError names the package to install."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: apt-get install {PACKAGE}")
    novels = [_lines(serialized) for serialized in _objects(path.read_bytes())]
    return "\n".join(paragraph for lines in novels for paragraph in _paragraphs(lines)) + "\n"


def _objects(data: bytes) -> Iterator[bytes]:
    """Decompresses the objects of the file; each follows its size in four bytes."""
    while data:
        unpacker = zlib.decompressobj()
        yield unpacker.decompress(data[4:])
        data = unpacker.unused_data


def _lines(serialized: bytes) -> list[str]:
    """Returns the strings of a vector in R's serialization format 3, big-endian."""
    (encoding,) = struct.unpack_from(">i", serialized, 14)
    kind, count = struct.unpack_from(">2i", serialized, 18 + encoding)
    if kind & 255 != _STRINGS:
        raise ValueError(
            f"Expected an R vector of strings (type {_STRINGS}), found type {kind & 255}."
        )
    lines, at = [], 26 + encoding
    for _ in range(count):
        flags, size = struct.unpack_from(">2i", serialized, at)
        if flags & 255 != _STRING:
            raise ValueError(f"Expected an R string (type {_STRING}), found type {flags & 255}.")
        at += 8 + max(size, 0)
        lines.append(serialized[at - max(size, 0) : at].decode("utf-8"))
    return lines


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Joins lines to paragraphs, separated by empty lines; drops headings and italics markers."""
    for block in "\n".join(line.strip() for line in lines).split("\n\n"):
        paragraph = " ".join(block.split()).replace("_", "")
        heading = paragraph.upper() == paragraph or paragraph.startswith(("Chapter", "By Jane"))
        if paragraph and not heading:
            yield paragraph
