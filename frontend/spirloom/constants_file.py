"""The constant section as a file next to the graph (schema/graph.fbs), memory-mapped when read."""

from __future__ import annotations

import hashlib
import os
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from spec_model.flatbuffer import MalformedBuffer
from spirloom.deferred import Deferred
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.mapped_file import release_pages
from spirloom.terminal import Report, bytes_text, silent

ALIGNMENT = 64
# Computed and written at once. Smaller blocks take longer: threads wait for Python's lock between
# the NumPy calls of a block.
BLOCK_BYTES = 4 << 20
# Threads that compute blocks. More wait for Python's lock: 1.9 GB of Q4_0 took 1.8 s with 4 threads
# and 4.1 s with 16 on a machine with 16 cores.
THREADS = min(4, os.cpu_count() or 1)
# Written at once: 3.4 GB of float32 took 5 to 9 s in pieces that fit a core's cache, and 16 s in
# pieces of 4 MiB, on a machine with 2 cores.
WRITE_BYTES = 256 << 10
SEGMENT_BYTES = 1 << 20  # digested at once
DIGEST_BYTES = 16
_MAGIC = b"SLGDATA1"
_FOOTER = struct.Struct(f"<8sQ{DIGEST_BYTES}s32x")


def write_section(
    arrays: Sequence[Array | Deferred], stream: IO[bytes], report: Report = silent
) -> tuple[int, bytes]:
    """Writes constants in file order, each padded to the alignment. Returns the number of bytes and
    the digest of the section, as digest_of() does.

    The threads of a pool compute blocks and digest segments, and this thread writes.
    """
    written, total = 0, sum(array.nbytes + -array.nbytes % ALIGNMENT for array in arrays)
    with ThreadPoolExecutor(THREADS) as pool:
        segments = _Segments(pool, max_pending=THREADS)
        for block in _computed(chain.from_iterable(map(_blocks, arrays)), pool, 2 * THREADS):
            for start in range(0, len(block), WRITE_BYTES):
                part = block[start : start + WRITE_BYTES]
                stream.write(part)
                segments.add(part)
            written += len(block)
            report(f"writing {bytes_text(written)} of {bytes_text(total)}")
        return written, segments.digest()


def _computed(
    tasks: Iterator[Callable[[], Any]], pool: ThreadPoolExecutor, max_pending: int
) -> Iterator[Any]:
    """The results of the tasks in their order; at most `max_pending` are computed ahead."""
    pending = deque(pool.submit(task) for task in islice(tasks, max_pending))
    while pending:
        found = pending.popleft().result()
        pending.extend(pool.submit(task) for task in islice(tasks, 1))
        yield found


class _Segments:
    """Digests the segments of a section, which is added in blocks, by the threads of a pool. Keeps
    blocks until they are digested, then releases their pages if they are mapped."""

    def __init__(self, pool: ThreadPoolExecutor, max_pending: int) -> None:
        self._pool, self._max_pending = pool, max_pending
        self._blocks: list[memoryview] = []
        self._missing = SEGMENT_BYTES
        self._pending: deque[Future[bytes]] = deque()
        self._digests: list[bytes] = []

    def add(self, block: memoryview) -> None:
        """The next bytes."""
        while len(block) >= self._missing:
            self._blocks.append(block[: self._missing])
            block = block[self._missing :]
            self._submit()
        if len(block):
            self._blocks.append(block)
            self._missing -= len(block)

    def digest(self) -> bytes:
        """The digest of the section."""
        if self._blocks:
            self._submit()
        return _digest_of_segments([*self._digests, *(task.result() for task in self._pending)])

    def _submit(self) -> None:
        self._pending.append(self._pool.submit(_segment_digest, self._blocks))
        self._blocks, self._missing = [], SEGMENT_BYTES
        while len(self._pending) > self._max_pending:
            self._digests.append(self._pending.popleft().result())


def _segment_digest(blocks: Sequence[memoryview]) -> bytes:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
        release_pages(np.frombuffer(block, np.uint8))
    return digest.digest()[:DIGEST_BYTES]


def _digest_of_segments(digests: Sequence[bytes]) -> bytes:
    """The digest of the segments' digests; of a single segment its own."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256(b"".join(digests)).digest()[:DIGEST_BYTES]


def write_constants_file(
    arrays: Sequence[Array | Deferred], stream: IO[bytes], report: Report = silent
) -> bytes:
    """Writes the section as a file of its own and returns its digest. The trailer is at the end, so
    that a truncated copy is detected.
    """
    size, digest = write_section(arrays, stream, report)
    stream.write(_FOOTER.pack(_MAGIC, size, digest))
    return digest


def _blocks(array: Array | Deferred) -> Iterator[Callable[[], memoryview]]:
    """Functions that return the bytes of an array and of its padding."""
    if isinstance(array, Deferred):
        for read in array.block_reads(BLOCK_BYTES):
            yield partial(_bytes_read, read)
    else:
        data = bytes_of(array)
        for start in range(0, len(data), BLOCK_BYTES):
            yield partial(_part, data, start)
    padding = b"\0" * (-array.nbytes % ALIGNMENT)
    yield lambda: memoryview(padding)


def _part(data: memoryview, start: int) -> memoryview:
    return data[start : start + BLOCK_BYTES]


def _bytes_read(read: Callable[[], Array]) -> memoryview:
    return bytes_of(read())


def bytes_of(array: Array) -> memoryview:
    """The elements in memory order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def digest_of(section: memoryview) -> bytes:
    """The digest of the bytes of a section, of the digests of its segments of SEGMENT_BYTES, which
    several threads compute; of a section of one segment, the segment's. A digest is the start of
    SHA-256, for which CPUs have instructions."""
    starts = range(0, max(1, len(section)), SEGMENT_BYTES)
    segments = [[section[start : start + SEGMENT_BYTES]] for start in starts]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return _digest_of_segments(list(pool.map(_segment_digest, segments)))


def section_of(path: Path, content: memoryview, graph: Path, digest: bytes) -> memoryview:
    """The section in the file `path`. Raises ImportFailure if its digest is not the one that
    `graph` states.
    """
    size = len(content) - _FOOTER.size
    magic, stated, found = _FOOTER.unpack(content[size:]) if size >= 0 else (b"", 0, b"")
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
