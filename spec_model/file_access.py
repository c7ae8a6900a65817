"""The operating system's part of spec_model.files: opening, locking, renaming, synchronizing."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    # An open file cannot be removed or renamed, so that no lock is needed. A writer closes its
    # temporary file just before it renames it: only older files belong to killed writers.
    _ORPHAN_SECONDS = 3600
    # Scanners and indexers open new files for a moment.
    _RETRY_SECONDS = 0.2

    def open_descriptor(path: Path) -> int:
        """A descriptor of the file for reading, which is not inherited."""
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        return os.open(path, os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT)

    def lock(stream: IO[bytes]) -> None:
        """Does nothing: the open file cannot be removed."""

    def remove_orphan(path: Path) -> None:
        """Removes a temporary file. OSError if its writer has it open or has just closed it."""
        if time.time() - path.stat().st_mtime < _ORPHAN_SECONDS:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        path.unlink()

    def copy_permissions(target: Path, stream: IO[bytes]) -> None:
        """Does nothing: files have the permissions that their directory passes on."""

    def rename(stream: IO[bytes], path: Path, target: Path) -> None:
        """Closes the stream of the file `path`, which replaces `target`. Retries for 200 ms while
        another program has the target open. OSError."""
        stream.close()
        end = time.monotonic() + _RETRY_SECONDS
        while True:
            try:
                path.replace(target)
                return
            except PermissionError:
                if time.monotonic() > end:
                    raise
                time.sleep(_RETRY_SECONDS / 20)

    def sync_directory(directory: Path) -> None:
        """Does nothing: directories cannot be opened."""

else:
    import fcntl

    def open_descriptor(path: Path) -> int:
        """A descriptor of the file for reading, which is not inherited."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)

    def lock(stream: IO[bytes]) -> None:
        """Locks a temporary file until it is closed."""
        fcntl.flock(stream, fcntl.LOCK_EX)

    def remove_orphan(path: Path) -> None:
        """Removes a temporary file. OSError if its writer has locked it."""
        descriptor = open_descriptor(path)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(descriptor)

    def copy_permissions(target: Path, stream: IO[bytes]) -> None:
        """Gives the file of the stream the permissions of `target`, if that exists."""
        with suppress(FileNotFoundError):
            os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))

    def rename(stream: IO[bytes], path: Path, target: Path) -> None:
        """Renames the file `path` of the stream, which replaces `target`. OSError."""
        path.replace(target)

    def sync_directory(directory: Path) -> None:
        """Synchronizes the entries of a directory to disk, if its file system supports that."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with suppress(OSError):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
