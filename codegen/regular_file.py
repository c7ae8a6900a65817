"""Regular files: read if they are such, and written so that they are seen whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

_NOT_REGULAR = "it is not a regular file"


def open_regular(path: Path) -> IO[bytes]:
    """The file, to read; OSError for what is none, such as a FIFO, which might never begin, or a
    device, which might never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def writable(path: Path) -> Path:
    """The file that `replaced(path)` would put in place: what a link leads to. OSError if that is
    there and is no regular file, or may not be written."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return path.resolve()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))
    if _is_standard_output(found):
        raise OSError(errno.EINVAL, "standard output goes there", str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return path.resolve()


def _is_standard_output(found: os.stat_result) -> bool:
    try:
        return os.path.samestat(found, os.fstat(sys.__stdout__.fileno()))
    except (AttributeError, OSError, ValueError):
        return False  # it is closed


@contextmanager
def replaced(path: Path, durable: bool = True) -> Iterator[IO[bytes]]:
    """A stream to a file that takes the name `path` when the block ends well, or else is removed.

    A file of that name keeps its permissions. `durable`: the new one outlasts a loss of power, and
    what earlier writers left behind when they were killed is removed; both take time.
    """
    with replaced_together([path], durable) as (stream,):
        yield stream


@contextmanager
def replaced_together(paths: Sequence[Path], durable: bool = True) -> Iterator[list[IO[bytes]]]:
    """As `replaced`, of several files: none takes its name before all are written. They take them
    in this order."""
    with ExitStack() as stack:
        files = [_Temporary(stack, writable(path), durable) for path in paths]
        yield [file.stream for file in files]
        for file in files:
            file.finish()
        for file in files:
            file.path.replace(file.target)
        if durable:
            for folder in {file.target.parent for file in files}:
                _sync_folder(folder)


class _Temporary:
    """A file beside `target` that lives as long as the stack, unless it is renamed before.

    It is locked while it is written, so that those of killed writers can be told.
    """

    def __init__(self, stack: ExitStack, target: Path, durable: bool) -> None:
        self.target = target
        self._durable = durable
        if durable:
            _remove_orphans(target)
        self.path, stream = _create_locked(target)
        self.stream: IO[bytes] = stack.enter_context(stream)
        stack.callback(self.path.unlink, missing_ok=True)
        with suppress(FileNotFoundError):
            os.fchmod(stream.fileno(), stat.S_IMODE(target.stat().st_mode))

    def finish(self) -> None:
        """Hands all that was written to the system, and to the disk if it is to be durable."""
        self.stream.flush()
        if self._durable:
            os.fsync(self.stream.fileno())


def _affixes(target: Path) -> tuple[str, str]:
    """How temporary files for `target` are called; its own name may be as long as names can be."""
    return f".{target.name[:48]}.", ".tmp"


def _create_locked(target: Path) -> tuple[Path, IO[bytes]]:
    while True:
        path = target.with_name(secrets.token_hex(4).join(_affixes(target)))
        stream = path.open("xb")
        fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:  # else one who looked for orphans was quicker
            return path, stream
        stream.close()


def _remove_orphans(target: Path) -> None:
    """Removes what killed writers of `target` left: files named like ours that nobody locks."""
    start, end = _affixes(target)
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            ours = entry.name.startswith(start) and entry.name.endswith(end)
            if ours and len(entry.name) == len(start) + 8 + len(end):
                with suppress(OSError):  # somebody's, or gone already
                    _remove_unlocked(Path(entry.path))


def _remove_unlocked(path: Path) -> None:
    with open_regular(path) as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # not every file system can
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
