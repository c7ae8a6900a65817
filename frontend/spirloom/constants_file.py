"""The constant section as a file next to the graph (schema/graph.fbs), memory-mapped when read."""

from __future__ import annotations

import hashlib
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from mmap import MADV_DONTNEED, mmap
from pathlib import Path
from typing import IO, Any

import numpy as np

from spec_model.flatbuffer import MalformedBuffer
from spirloom.deferred import Deferred
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.terminal import Report, bytes_text, silent

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
BLOCK_BYTES = 1 << 20  # computed and written at once; its temporaries stay in the CPU's caches
_MAX_PENDING = 8  # blocks that wait for a thread
DIGEST_BYTES = 16
_MAGIC = b"SLGDATA1"
_FOOTER = struct.Struct(f"<8sQ{DIGEST_BYTES}s32x")


def write_section(
    arrays: Sequence[Array | Deferred], stream: IO[bytes], report: Report = silent
) -> tuple[int, bytes]:
    """Writes constants in file order, each padded to the alignment. Returns the number of bytes and
    the digest of all these bytes.

    One thread writes and another one digests a block while the next ones are computed.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    size, written, total = 0, 0, sum(array.nbytes for array in arrays)
    pending: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(1) as writer, ThreadPoolExecutor(1) as digester:
        for array in arrays:
            for block in _blocks(array):
                pending += writer.submit(stream.write, block), digester.submit(digest.update, block)
                while len(pending) > _MAX_PENDING:
                    pending.popleft().result()
                written += len(block)
                report(f"writing {bytes_text(written)} of {bytes_text(total)}")
            size += array.nbytes + -array.nbytes % ALIGNMENT
        for task in pending:
            task.result()
    return size, digest.digest()


def write_constants_file(
    arrays: Sequence[Array | Deferred], stream: IO[bytes], report: Report = silent
) -> bytes:
    """Writes the section as a file of its own and returns its digest. The trailer is at the end, so
    that a truncated copy is detected.
    """
    size, digest = write_section(arrays, stream, report)
    stream.write(_FOOTER.pack(_MAGIC, size, digest))
    return digest


def _blocks(array: Array | Deferred) -> Iterator[Any]:
    """The bytes of an array and its padding. Mapped pages are released after their use."""
    if isinstance(array, Deferred):
        yield from map(bytes_of, array.blocks(BLOCK_BYTES))
    else:
        data = bytes_of(array)
        for start in range(0, len(data), BLOCK_BYTES):
            yield data[start : start + BLOCK_BYTES]
            release_pages(array)
    yield b"\0" * (-array.nbytes % ALIGNMENT)


def bytes_of(array: Array) -> Any:
    """The elements in memory order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


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
