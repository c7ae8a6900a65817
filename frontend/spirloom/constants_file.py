"""The constant section as a file next to the graph (schema/graph.fbs), memory-mapped when read."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from mmap import MADV_DONTNEED, mmap
from pathlib import Path
from typing import IO, Any

import numpy as np

from spec_model.flatbuffer import MalformedBuffer
from spirloom.errors import ImportFailure
from spirloom.ir import Array

MIN_MAPPED_BYTES = 1 << 16  # smaller arrays are not worth a system call


def release_pages(array: Array) -> None:
    """Releases the memory pages of a mapped array. The system reads them again on access. A pass
    over all weights then holds one weight in memory at a time.
    """
    if array.nbytes < MIN_MAPPED_BYTES:
        return
    root: Array = array
    owner: Any = array.base
    while owner is not None and not isinstance(owner, mmap):
        root = owner if isinstance(owner, np.ndarray) else root
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    # Writes into private mappings would be lost.
    if isinstance(owner, mmap) and not root.flags.writeable:
        owner.madvise(MADV_DONTNEED)


ALIGNMENT = 64
DIGEST_BYTES = 16
_MAGIC = b"SLGDATA1"
_FOOTER = struct.Struct(f"<8sQ{DIGEST_BYTES}s32x")


@dataclass(frozen=True, slots=True)
class Section:
    """Constants in file order, each padded to the alignment, and the digest of all these bytes."""

    arrays: tuple[Array, ...]
    digest: bytes

    @classmethod
    def of(cls, arrays: Iterable[Array]) -> Section:
        """The section of these constants."""
        parts = tuple(arrays)
        digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        for array in parts:
            digest.update(bytes_of(array))
            digest.update(_padding(array))
            release_pages(array)
        return cls(parts, digest.digest())

    def write(self, stream: IO[bytes]) -> int:
        """Writes the bytes and returns their number."""
        size = 0
        for array in self.arrays:
            size += stream.write(bytes_of(array)) + stream.write(_padding(array))
            release_pages(array)
        return size

    def write_file(self, stream: IO[bytes]) -> None:
        """Writes the bytes as a file of their own. The trailer is at the end, so that a truncated
        copy is detected.
        """
        stream.write(_FOOTER.pack(_MAGIC, self.write(stream), self.digest))


def bytes_of(array: Array) -> Any:
    """The elements in memory order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _padding(array: Array) -> bytes:
    return b"\0" * (-array.nbytes % ALIGNMENT)


def digest_of(section: Array) -> bytes:
    """The digest of the bytes of a section."""
    return hashlib.blake2b(section.data, digest_size=DIGEST_BYTES).digest()


def section_of(path: Path, content: Array, graph: Path, digest: bytes) -> Array:
    """The section in the file `path`. Raises ImportFailure if its digest is not the one that
    `graph` states.
    """
    size = len(content) - _FOOTER.size
    magic, stated, found = _FOOTER.unpack(content[size:].data) if size >= 0 else (b"", 0, b"")
    if magic != _MAGIC or stated != size:
        raise MalformedBuffer(
            f"its constants file {path} is damaged or truncated: {len(content)} bytes"
        )
    if found != digest:
        raise ImportFailure(
            f"{graph} and {path} do not belong together: the graph was written with constants "
            f"of the digest {digest.hex()}, the file contains those of {found.hex()}. Store the "
            "constants file that was written with the graph next to it, or import the model "
            "again."
        )
    return content[:size]
