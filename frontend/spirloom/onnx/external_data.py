"""Tensors of an ONNX model stored in other files of its directory (external data)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

import numpy as np
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

from spec_model.files import open_regular
from spirloom.errors import ImportFailure
from spirloom.ir import Array


def messages(message: Message) -> Iterator[Message]:
    """The message and all nested ones. The parser limits their depth."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for item in items_of(value):
                yield from messages(item)


def items_of(value: Any) -> Iterable[Any]:
    """The values of a singular or repeated field of messages, strings or bytes."""
    return [value] if isinstance(value, Message | str | bytes) else value


# Tensors may share bytes. The limit prevents huge models from small files.
_MAX_READS = 8

# Tensors of at least this many bytes are memory-mapped.
MIN_MAPPED = 1 << 16


def load_external(model: ModelProto, model_path: Path) -> None:
    """Reads small external tensors into the model. Checks the entries of large ones, and makes
    their paths absolute. Raises ImportFailure.
    """
    read: Counter[Path] = Counter()
    for tensor in messages(model):
        if is_external(tensor):
            _load(tensor, model_path, read)


def is_external(message: object) -> TypeGuard[TensorProto]:
    """Whether a message is a tensor with external data."""
    return isinstance(message, TensorProto) and message.data_location == TensorProto.EXTERNAL


def external_bytes(model: ModelProto) -> int:
    """The number of bytes of external tensors."""
    return sum(int(_entries(t)["length"]) for t in messages(model) if is_external(t))


def mapped(tensor: TensorProto, dtype: np.dtype[Any]) -> Array:
    """The memory-mapped elements of an external tensor. Raises ValueError or OSError."""
    entries = _entries(tensor)
    length = int(entries["length"])
    if length != prod(tensor.dims) * dtype.itemsize:
        raise ValueError(f"it has {length} bytes for {dtype} of shape {list(tensor.dims)}")
    with open_regular(Path(entries["location"])) as stream:
        content = mmap(stream.fileno(), 0, access=ACCESS_READ)
    little = dtype.newbyteorder("<")
    flat = np.frombuffer(content, little, prod(tensor.dims), int(entries["offset"]))
    return flat.reshape(tuple(tensor.dims))


def _entries(tensor: TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _load(tensor: TensorProto, model_path: Path, read: Counter[Path]) -> None:
    entries = _entries(tensor)
    what = f"Tensor '{tensor.name}' of {model_path}"
    path = model_path.parent / _location(entries.get("location", ""), what)
    try:
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", "-1"))
    except ValueError as error:
        raise ImportFailure(f"{what} has a malformed offset or length: {entries}.") from error
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            length = size - offset if length == -1 else length
            if offset < 0 or length < 0 or offset + length > size:
                raise ImportFailure(
                    f"{what} requires {length} bytes at offset {offset} of {path}, which has "
                    f"{size}."
                )
            read[path] += length
            if read[path] > _MAX_READS * size:
                raise ImportFailure(
                    f"{what} is stored in {path}, whose {size} bytes the model reads more than "
                    f"{_MAX_READS} times."
                )
            if length >= MIN_MAPPED:
                _set_entries(tensor, location=str(path), offset=str(offset), length=str(length))
                return
            stream.seek(offset)
            tensor.raw_data = stream.read(length)
    except OSError as error:
        raise ImportFailure(
            f"{what} is stored in {path}, which cannot be read: {error.strerror}. "
            "Store the file next to the model."
        ) from error
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _set_entries(tensor: TensorProto, **entries: str) -> None:
    del tensor.external_data[:]
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)


def _location(stated: str, what: str) -> PurePosixPath:
    location = PurePosixPath(stated)
    if not location.parts or location.is_absolute() or {"..", "\0"} & {*location.parts, *stated}:
        raise ImportFailure(
            f"{what} is stored in '{stated}', which is not a path in the model's directory."
        )
    return location
