"""Memory-mapped files. Importers read all weights as arrays of these, whose ranges are checked."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from spec_model.file_kinds import MAX_BYTES, advice
from spec_model.files import open_regular
from spec_model.flatbuffer import MalformedBuffer
from spirloom.errors import ImportFailure, reading
from spirloom.ir import Array, is_possible


def mapped(path: Path, remedy: str = "") -> memoryview:
    """The content of a file, read-only; it stays mapped while a part of it is in use. Raises
    ImportFailure, with the remedy, if it cannot be read."""
    with reading(path, remedy), open_regular(path) as stream:
        try:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:  # an empty file cannot be mapped
            return memoryview(b"")


def starts_with(path: Path, magic: bytes, offset: int = 0) -> bool:
    """Whether a file has these bytes at an offset. False if it cannot be read: its reader reports
    the reason."""
    try:
        with open_regular(path) as stream:
            return stream.read(offset + len(magic))[offset:] == magic
    except OSError:
        return False


def part_of(data: memoryview, offset: int, size: int, what: str) -> memoryview:
    """A range of the content. Raises MalformedBuffer, naming it as `what`, if it ends outside."""
    if offset < 0 or size < 0 or offset + size > len(data):
        raise MalformedBuffer(
            f"{what} needs {size} bytes at offset {offset}, but there are {len(data)}"
        )
    return data[offset : offset + size]


def array_in(
    data: memoryview, offset: int, dtype: np.dtype[Any], shape: Sequence[int], what: str
) -> Array:
    """A mapped array of little-endian elements. Raises MalformedBuffer, naming it as `what`, if its
    shape is impossible or it ends outside of the content."""
    if not is_possible(shape):
        raise MalformedBuffer(f"{what} has the invalid shape {list(shape)}")
    part = part_of(data, offset, prod(shape) * dtype.itemsize, what)
    return np.frombuffer(part, dtype.newbyteorder("<")).reshape(tuple(shape))


@contextmanager
def damage_of(
    path: Path, kind: str, remedy: str = "Copy or download the file again.", container: str = ""
) -> Iterator[None]:
    """Converts MalformedBuffer to ImportFailure, which names the format of another file. `kind`:
    the format, with its article; `container`: that of file_kinds.inc, if it has another name.
    """
    try:
        yield
    except MalformedBuffer as error:
        with suppress(OSError), path.open("rb") as file:
            if found := advice(file.read(MAX_BYTES), container or kind):
                raise ImportFailure(f"{path} is not {kind}.{found}") from None
        raise ImportFailure(f"{path} is damaged or not {kind}: {error}. {remedy}") from None


MIN_MAPPED_BYTES = 1 << 16  # smaller arrays are not worth a system call


def release_pages(array: Array) -> None:
    """Releases the memory pages of a mapped array. The system reads them again on access. A pass
    over all weights then holds one weight in memory at a time.
    """
    if array.nbytes < MIN_MAPPED_BYTES or not hasattr(mmap, "MADV_DONTNEED"):  # on Windows
        return
    root: Array = array
    owner: Any = array.base
    while owner is not None and not isinstance(owner, mmap.mmap):
        root = owner if isinstance(owner, np.ndarray) else root
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    # Writes into private mappings would be lost.
    if isinstance(owner, mmap.mmap) and not root.flags.writeable:
        mapping = np.frombuffer(owner, np.uint8)
        used = array if array.flags.forc else mapping
        offset = _address(used) - _address(mapping)
        start = offset // mmap.PAGESIZE * mmap.PAGESIZE
        owner.madvise(mmap.MADV_DONTNEED, start, offset + used.nbytes - start)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
