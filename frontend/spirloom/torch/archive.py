"""Reads .pt2 archives of torch.export.save: a zip file with JSON and raw weights."""

from __future__ import annotations

import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from spec_model.file_kinds import MAX_BYTES, advice
from spec_model.files import open_regular
from spec_model.flatbuffer import MalformedBuffer
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array, is_possible
from spirloom.json_values import Json
from spirloom.mapped_file import damage_of, mapped, part_of
from spirloom.torch.values import array_of, exported_type


def read_weight(archive: Archive, name: str, entry: Json) -> Array:
    """A weight as a dense array. Raises ImportFailure."""
    if entry.get("use_pickle").typed(bool):
        raise ImportFailure(
            f"{archive.path}: '{name}' is a pickled Python object, which the importer does not "
            "load. Unwrap quantized tensors of torchao before exporting "
            "(torchao.utils.unwrap_tensor_subclass)."
        )
    meta = entry.get("tensor_meta")
    what = f"{archive.path}: '{name}'"
    dtype = exported_type(meta.get("dtype").integer())
    sizes = [_int(size) for size in meta.get("sizes").items()]
    strides = [_int(stride) for stride in meta.get("strides").items()]
    first = _int(meta.get("storage_offset"))
    if len(sizes) != len(strides) or not is_possible(sizes) or min([first, *strides]) < 0:
        raise ImportFailure(f"{what} has invalid sizes {sizes} or strides {strides}.")
    content = archive.content(_member(entry.get("path_name"), archive))
    span = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if not prod(sizes):
        first = span = 0
    try:
        with damage_of(archive.path, _KIND, container="a ZIP file"):
            values = array_of(content, dtype, (span,), f"weight '{name}'", first)
    except Unsupported as error:
        raise ImportFailure(f"{what}: {error}.") from error
    byte_strides = tuple(s * values.itemsize for s in strides)
    return np.lib.stride_tricks.as_strided(values, tuple(sizes), byte_strides, writeable=False)


def _int(size: Json) -> int:
    kind, value = size.single_member()
    if kind != "as_int":
        raise ImportFailure(f"{size.location} is {kind}; expected an integer.")
    return value.integer()


def _member(path: Json, archive: Archive) -> str:
    names = [f"data/{directory}/{path.text()}" for directory in ("weights", "constants")]
    return next((name for name in names if archive.has(name)), names[0])


# Maximum size of a compressed member: torch.export.save does not compress, and trained weights
# hardly shrink, so that a larger one is an attempt to exhaust the memory.
_MAX_INFLATION = 16
_MAX_SMALL_MEMBER = 1 << 20
# A member of archives in the format before PyTorch 2.9.
LEGACY_MEMBER = "serialized_exported_program.json"
_LOCAL_HEADER, _LOCAL_MAGIC = struct.Struct("<4s5H3I2H"), b"PK\x03\x04"
_KIND = "an archive of torch.export.save"


def is_archive(path: Path) -> bool:
    """Whether a file is a zip archive with exported programs."""
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            names = archive.namelist()
            return LEGACY_MEMBER in names or any("/models/" in name for name in names)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False  # the reader reports the reason


class Archive:
    """The members of an archive, by names without its top-level directory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes = mapped(path)
        try:
            self._zip = zipfile.ZipFile(open_regular(path))
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
            known = advice(bytes(self._bytes[:MAX_BYTES]), "a ZIP file")
            raise ImportFailure(f"Cannot read {path}: {_reason(error)}.{known}") from error
        self._max_inflated = _MAX_INFLATION * len(self._bytes) + _MAX_SMALL_MEMBER
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in self._zip.infolist():
            top, _, name = info.filename.partition("/")
            self._members.setdefault(name or top, info)

    def has(self, name: str) -> bool:
        """Whether the member exists."""
        return name in self._members

    def names(self, directory: str, suffix: str) -> list[str]:
        """The sorted names of members in a directory, with this suffix."""
        return sorted(n for n in self._members if n.startswith(directory) and n.endswith(suffix))

    def json(self, name: str) -> Any:
        """Parses a JSON member."""
        try:
            return json.loads(self._read(name, self._max_inflated))
        except (ValueError, RecursionError) as error:
            raise ImportFailure(f"{self.path}: {name} is not JSON: {error}.") from error

    def text(self, name: str) -> str:
        """Reads a short text member."""
        return bytes(self._read(name, 1 << 16)).decode(errors="replace").strip()

    def content(self, name: str) -> memoryview:
        """A member's bytes, mapped if the member is not compressed."""
        info = self._member(name)
        if info.compress_type != zipfile.ZIP_STORED:
            return memoryview(self._read(name, self._max_inflated))
        begin = info.header_offset
        with damage_of(self.path, _KIND, container="a ZIP file"):
            header = part_of(self._bytes, begin, _LOCAL_HEADER.size, f"the header of {name}")
            if header[:4] != _LOCAL_MAGIC:
                raise MalformedBuffer(f"{name} has no header at offset {begin}")
            names = _LOCAL_HEADER.unpack(header)[9:11]
            begin += _LOCAL_HEADER.size + sum(names)
            return part_of(self._bytes, begin, info.file_size, name)

    def _read(self, name: str, limit: int) -> bytes:
        info = self._member(name)
        if info.file_size > limit:
            raise ImportFailure(
                f"{self.path}: {name} has {info.file_size} bytes; the maximum is {limit}."
            )
        try:
            return self._zip.read(info)
        except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile,
                NotImplementedError, RuntimeError) as error:  # fmt: skip
            raise ImportFailure(f"{self.path}: cannot read {name}: {_reason(error)}.") from error

    def _member(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            raise ImportFailure(
                f"{self.path} has no {name}. It is not an archive of torch.export.save, or damaged."
            )
        return self._members[name]


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class Weights(Mapping[str, Array]):
    """The weights of an archive by name, each read on first use."""

    def __init__(self, archive: Archive, entries: Mapping[str, Any]) -> None:
        self._archive = archive
        self._entries = entries
        self._read: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._read:
            if name not in self._entries:
                raise ImportFailure(
                    f"{self._archive.path} has no weight '{name}', which its program uses."
                )
            self._read[name] = read_weight(self._archive, name, self._entries[name])
        return self._read[name]

    def __iter__(self) -> Any:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
