"""Reads .pt2 archives written by torch.export.save: JSON fields, and raw weights in a zip file."""

from __future__ import annotations

import json
import mmap
import struct
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from codegen.regular_file import open_regular
from spirloom.bfloat16 import from_bfloat16
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array, is_possible
from spirloom.torch.values import BFLOAT16, NAMES, numpy_type

T = TypeVar("T")
_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a whole number", bool: "a bool"}


class Json:
    """A value and its place, e.g. model.json: graph_module.graph.nodes.3."""

    def __init__(self, value: Any, place: str) -> None:
        self.value = value
        self.place = place

    def get(self, key: str) -> Json:
        """A member, which must be there."""
        found = self.find(key)
        if found is None:
            raise ImportFailure(f"{self.place} has no '{key}'.")
        return found

    def find(self, key: str) -> Json | None:
        """A member; None if it is absent or null."""
        value = self.of(dict).get(key)
        return None if value is None else Json(value, f"{self.place}.{key}")

    def items(self) -> list[Json]:
        """The items of a list."""
        return [Json(item, f"{self.place}.{i}") for i, item in enumerate(self.of(list))]

    def entries(self) -> list[tuple[str, Json]]:
        """The members of an object."""
        return [(k, Json(v, f"{self.place}.{k}")) for k, v in self.of(dict).items()]

    def only(self) -> tuple[str, Json]:
        """The one member of an object, which is how unions are written."""
        found = self.entries()
        if len(found) != 1:
            raise ImportFailure(f"{self.place} has {len(found)} members instead of one.")
        return found[0]

    def text(self) -> str:
        """A string."""
        return self.of(str)

    def whole(self) -> int:
        """An int that is no bool."""
        return self.of(int)

    def of(self, kind: type[T]) -> T:
        """The value, if it is of that type."""
        wrong = isinstance(self.value, bool) and kind is not bool
        if wrong or not isinstance(self.value, kind):
            raise ImportFailure(f"{self.place} is not {_NAMES.get(kind, kind.__name__)}.")
        return self.value


def weight_of(archive: Archive, name: str, entry: Json) -> Array:
    """A weight as a dense array. Raises ImportFailure."""
    if entry.get("use_pickle").of(bool):
        raise ImportFailure(
            f"{archive.path}: '{name}' is a pickled object of Python, which import does not run. "
            "Quantised tensors of torchao are: unwrap them (torchao.utils.unwrap_tensor_subclass) "
            "before exporting."
        )
    meta = entry.get("tensor_meta")
    what = f"{archive.path}: '{name}'"
    code = meta.get("dtype").whole()
    sizes = [_number(size) for size in meta.get("sizes").items()]
    strides = [_number(stride) for stride in meta.get("strides").items()]
    first = _number(meta.get("storage_offset"))
    if len(sizes) != len(strides) or not is_possible(sizes) or min([first, *strides]) < 0:
        raise ImportFailure(f"{what} has impossible sizes {sizes} or strides {strides}.")
    try:
        dtype = numpy_type(NAMES.get(code, f"of number {code}"))
    except Unsupported as error:
        raise ImportFailure(f"{what}: {error}.") from error
    stored = np.dtype(np.uint16) if NAMES[code] == BFLOAT16 else dtype
    raw = archive.array(_member(entry.get("path_name"), archive))
    last = first + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    wanted = (last + 1) * stored.itemsize if prod(sizes) else 0
    if wanted > raw.nbytes:
        raise ImportFailure(f"{what} needs {wanted} bytes, and there are {raw.nbytes}.")
    values = raw[: raw.nbytes - raw.nbytes % stored.itemsize].view(stored.newbyteorder("<"))
    steps = tuple(s * stored.itemsize for s in strides)
    seen = np.lib.stride_tricks.as_strided(
        values[first:] if prod(sizes) else values[:0], tuple(sizes), steps, writeable=False
    )
    return from_bfloat16(seen) if NAMES[code] == BFLOAT16 else seen


def _number(size: Json) -> int:
    kind, value = size.only()
    if kind != "as_int":
        raise ImportFailure(f"{size.place} is {kind}; a weight's sizes are numbers.")
    return value.whole()


def _member(path: Json, archive: Archive) -> str:
    names = [f"data/{folder}/{path.text()}" for folder in ("weights", "constants")]
    return next((name for name in names if archive.has(name)), names[0])


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
            if name not in self._entries:
                raise ImportFailure(f"{self._archive.path} has no weight '{name}', which it names.")
            self._read[name] = weight_of(self._archive, name, self._entries[name])
        return self._read[name]

    def __iter__(self) -> Any:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
