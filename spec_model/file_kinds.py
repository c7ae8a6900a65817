"""Recognizes files of other formats, for the messages of readers."""

from __future__ import annotations

from dataclasses import dataclass

from spec_model.table import rows


@dataclass(frozen=True, slots=True)
class FileKind:
    """A format: its magic bytes (None: any byte), its name with an article, and what to do."""

    offset: int
    magic: tuple[int | None, ...]
    kind: str
    remedy: str

    def matches(self, content: bytes) -> bool:
        """Whether a file that begins with `content` has the magic bytes."""
        found = content[self.offset : self.offset + len(self.magic)]
        return len(found) == len(self.magic) and all(
            want in (None, byte) for want, byte in zip(self.magic, found, strict=True)
        )


def _kind_of(row: dict[str, str]) -> FileKind:
    digits = row["magic"]
    pairs = [digits[i : i + 2] for i in range(0, len(digits), 2)]
    magic = tuple(None if pair == "??" else int(pair, 16) for pair in pairs)
    return FileKind(int(row["offset"]), magic, row["kind"], row["remedy"])


FILE_KINDS = tuple(map(_kind_of, rows("file_kinds.inc", "SPIRLOOM_FILE_KIND")))
MAX_BYTES = max(kind.offset + len(kind.magic) for kind in FILE_KINDS)


def file_kind(content: bytes) -> FileKind | None:
    """The format of a file that begins with `content`, of which MAX_BYTES are read."""
    return next((kind for kind in FILE_KINDS if kind.matches(content)), None)


def advice(content: bytes, expected: str) -> str:
    """A space and sentences about the format of a file. Empty if it is `expected`, the name of a
    kind, or unknown."""
    found = file_kind(content)
    if found is None or found.kind == expected:
        return ""
    return f" It is {found.kind}. {found.remedy}."
