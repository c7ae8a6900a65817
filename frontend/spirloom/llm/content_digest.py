"""Digests of the contents of large files, which are not read again while the files stay as they
are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from spec_model.files import open_regular, replaced

_CHUNK = 1 << 22
# A file that was written so recently may be written again without another time of modification.
_SETTLED_SECONDS = 2


def content_digest(path: Path, cache: Path) -> bytes:
    """A digest of all bytes of a file. `cache` is a directory for the digests of files by their
    path: one that has the same identity, size and times is not read. Raises OSError."""
    with open_regular(path) as stream:
        before = _identity(stream.fileno())
        entry = cache / f"{hashlib.blake2b(os.fsencode(path.resolve())).hexdigest()[:32]}.json"
        known = _read(entry)
        if known is not None and known[0] == before:
            return known[1]
        digest = hashlib.blake2b(digest_size=16)
        stream.seek(0)
        while data := stream.read(_CHUNK):
            digest.update(data)
        after = _identity(stream.fileno())
    if before == after and time.time_ns() - max(after[3:]) > _SETTLED_SECONDS * 10**9:
        with contextlib.suppress(OSError):
            cache.mkdir(parents=True, exist_ok=True)
            with replaced(entry) as file:
                file.write(json.dumps([after, digest.hexdigest()]).encode())
    return digest.digest()


def _identity(descriptor: int) -> list[int]:
    """Device, inode, size, and the times of modification and of the change of attributes, in ns."""
    found = os.fstat(descriptor)
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _read(entry: Path) -> tuple[list[int], bytes] | None:
    """A stored identity and digest; None if there is none that can be read."""
    try:
        identity, digest = json.loads(entry.read_bytes())
        return list(identity), bytes.fromhex(digest)
    except (OSError, ValueError, TypeError):
        return None
