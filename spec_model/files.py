"""Files: opened only if they are regular, replaced atomically; depfiles."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from spec_model import file_access

_NOT_REGULAR = "it is not a regular file"


def open_regular(path: Path) -> IO[bytes]:
    """The file, opened for reading. OSError if it is not a regular file: reading a FIFO or a device
    may block forever."""
    descriptor = file_access.open_descriptor(path)
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
    """The file that `replaced(path)` replaces, links resolved. OSError if it exists and is not a
    regular file or is not writable, and if its directory is not writable."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return _in_writable_directory(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))
    if _is_standard_output(found):
        raise OSError(errno.EINVAL, "standard output is redirected to it", str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return _in_writable_directory(path)


def _in_writable_directory(path: Path) -> Path:
    target = path.resolve()
    directory = target.parent
    if directory.is_dir() and not os.access(directory, os.W_OK | os.X_OK):
        reason = f"the directory {directory} is not writable"
        raise PermissionError(errno.EACCES, reason, str(path))
    return target


def _is_standard_output(found: os.stat_result) -> bool:
    if sys.__stdout__ is None:
        return False
    try:
        return os.path.samestat(found, os.fstat(sys.__stdout__.fileno()))
    except (OSError, ValueError):
        return False  # standard output is closed


@contextmanager
def replaced(path: Path, durable: bool = True) -> Iterator[IO[bytes]]:
    """A stream to a temporary file, renamed to `path` if the block succeeds, removed if it fails.

    Permissions of an existing file are kept. `durable`: the file is synchronized to disk, and
    temporary files of killed writers are removed. Both take time.
    """
    with replaced_together([path], durable) as (stream,):
        yield stream


@contextmanager
def replaced_together(paths: Sequence[Path], durable: bool = True) -> Iterator[list[IO[bytes]]]:
    """As `replaced`, for several files: all are written, then renamed in this order."""
    with ExitStack() as stack:
        files = [_Temporary(stack, writable(path), durable) for path in paths]
        yield [file.stream for file in files]
        for file in files:
            file.finish()
        for file in files:
            file_access.rename(file.stream, file.path, file.target)
        if durable:
            for directory in {file.target.parent for file in files}:
                file_access.sync_directory(directory)


class _Temporary:
    """A file in the directory of `target`, removed with the stack unless it is renamed before.

    It is locked while it is written: an unlocked one belongs to a killed writer.
    """

    def __init__(self, stack: ExitStack, target: Path, durable: bool) -> None:
        self.target = target
        self._durable = durable
        if durable:
            _remove_orphans(target)
        self.path, stream = _create_locked(target)
        stack.callback(self.path.unlink, missing_ok=True)  # after the stream is closed
        self.stream: IO[bytes] = stack.enter_context(stream)
        file_access.copy_permissions(target, stream)

    def finish(self) -> None:
        """Flushes the stream; if durable, synchronizes it to disk."""
        self.stream.flush()
        if self._durable:
            os.fsync(self.stream.fileno())


def _affixes(target: Path) -> tuple[str, str]:
    """Prefix and suffix of temporary files. The prefix is limited: so are file names."""
    return f".{target.name[:48]}.", ".tmp"


def _create_locked(target: Path) -> tuple[Path, IO[bytes]]:
    while True:
        path = target.with_name(secrets.token_hex(4).join(_affixes(target)))
        stream = path.open("xb")
        file_access.lock(stream)
        if os.fstat(stream.fileno()).st_nlink:  # otherwise another process removed it as an orphan
            return path, stream
        stream.close()


def _remove_orphans(target: Path) -> None:
    """Removes unlocked temporary files, which killed writers of `target` left."""
    start, end = _affixes(target)
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            ours = entry.name.startswith(start) and entry.name.endswith(end)
            if ours and len(entry.name) == len(start) + 8 + len(end):
                with suppress(OSError):  # locked by its writer, or removed already
                    file_access.remove_orphan(Path(entry.path))


def write_atomically(path: Path, data: bytes) -> None:
    """Replaces the file in one step, without synchronizing: it can be generated again."""
    with replaced(path, durable=False) as stream:
        stream.write(data)


def write_depfile(depfile: Path, product: Path, inputs: Iterable[Path]) -> None:
    """Writes the inputs of a product for Make and Ninja. An equal depfile is not rewritten."""
    lines = " \\\n  ".join(_escaped(path) for path in sorted(inputs))
    data = f"{_escaped(product)}: \\\n  {lines}\n".encode()
    if not depfile.is_file() or depfile.read_bytes() != data:
        depfile.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(depfile, data)


def _escaped(path: Path) -> str:
    text = str(path.resolve())
    for char, escape in ((" ", "\\ "), ("#", "\\#"), ("$", "$$")):
        text = text.replace(char, escape)
    return text
