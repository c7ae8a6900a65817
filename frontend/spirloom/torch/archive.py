"""Reads .pt2 archives, which torch.export.save writes: a zip file with raw weights."""

from __future__ import annotations

import json
import mmap
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure
from spirloom.ir import Array

# No member of an archive is more than a number of times what it takes there.
MAX_JSON = 1 << 30
# A member of what PyTorch wrote before it had this format.
EARLY = "serialized_exported_program.json"
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive with exported programs, and so no ONNX model."""
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            return EARLY in names or any("/models/" in name for name in names)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False  # whoever reads it says why


class Archive:
    """The members of an archive, without its top folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._stream = open_regular(path)
            self._zip = zipfile.ZipFile(self._stream)
            self._bytes = mmap.mmap(self._stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
            raise ImportFailure(f"Cannot read {path}: {_reason(error)}.") from error
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            top, _, name = info.filename.partition("/")
            self._members.setdefault(name or top, info)

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return name in self._members

    def names(self, folder: str, suffix: str) -> list[str]:
        """The members below a folder whose names end so, sorted."""
        return sorted(n for n in self._members if n.startswith(folder) and n.endswith(suffix))

    def json(self, name: str) -> Any:
        """A member that is JSON."""
        try:
            return json.loads(self._read(name, MAX_JSON))
        except (ValueError, RecursionError) as error:
            raise ImportFailure(f"{self.path}: {name} is not JSON: {error}.") from error

    def text(self, name: str) -> str:
        """A short member."""
        return bytes(self._read(name, 1 << 16)).decode(errors="replace").strip()

    def array(self, name: str) -> Array:
        """A member's bytes: of one that is not compressed, the file's own."""
        info = self._member(name)
        if info.compress_type != zipfile.ZIP_STORED:
            return np.frombuffer(self._read(name, len(self._bytes) * 1024), np.uint8)
        begin = info.header_offset
        header = self._bytes[begin : begin + _LOCAL_HEADER.size]
        if len(header) < _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
            raise ImportFailure(f"{self.path} is damaged: {name} has no header at {begin}.")
        names = _LOCAL_HEADER.unpack(header)[9:11]
        begin += _LOCAL_HEADER.size + sum(names)
        if begin + info.file_size > len(self._bytes):
            raise ImportFailure(
                f"{self.path} is damaged: {name} ends at {begin + info.file_size}, beyond the "
                f"file's end at {len(self._bytes)}."
            )
        return np.frombuffer(self._bytes, np.uint8, info.file_size, begin)

    def _read(self, name: str, limit: int) -> bytes:
        info = self._member(name)
        if info.file_size > limit:
            raise ImportFailure(f"{self.path}: {name} has {info.file_size} bytes, over {limit}.")
        try:
            return self._zip.read(info)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError,
                RuntimeError) as error:  # fmt: skip
            raise ImportFailure(f"{self.path}: cannot read {name}: {_reason(error)}.") from error

    def _member(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            raise ImportFailure(
                f"{self.path} has no {name}: it is no archive of torch.export.save, or a damaged "
                "one."
            )
        return self._members[name]


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class Weights(Mapping[str, Array]):
    """The weights of an archive by name, each read when it is asked for."""

    def __init__(self, archive: Archive, entries: Mapping[str, Any]) -> None:
        self._archive = archive
        self._entries = entries
        self._read: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._read:
            from spirloom.torch.weights import weight_of

            if name not in self._entries:
                raise ImportFailure(f"{self._archive.path} has no weight '{name}', which it names.")
            self._read[name] = weight_of(self._archive, name, self._entries[name])
        return self._read[name]

    def __iter__(self) -> Any:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
