"""Tensors of an ONNX model stored in other files of its directory (external data)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any, TypeGuard

import numpy as np
from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.mapped_file import MIN_MAPPED_BYTES, array_in, damage_of, mapped, part_of


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


def external_array(tensor: TensorProto, dtype: np.dtype[Any]) -> Array:
    """The mapped elements of an external tensor. Raises ValueError, MalformedBuffer and
    ImportFailure."""
    entries = _entries(tensor)
    length = int(entries["length"])
    if length != prod(tensor.dims) * dtype.itemsize:
        raise ValueError(f"it has {length} bytes for {dtype} of shape {list(tensor.dims)}")
    content = mapped(Path(entries["location"]))
    return array_in(content, int(entries["offset"]), dtype, tensor.dims, "it")


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
    content = mapped(path, f"{what} is stored in it. Store the file next to the model.")
    length = len(content) - offset if length == -1 else length
    with damage_of(path, "the file of this model"):
        part = part_of(content, offset, length, what)
    read[path] += length
    if read[path] > _MAX_READS * len(content):
        raise ImportFailure(
            f"{what} is stored in {path}, whose {len(content)} bytes the model reads more than "
            f"{_MAX_READS} times."
        )
    if length >= MIN_MAPPED_BYTES:
        _set_entries(tensor, location=str(path), offset=str(offset), length=str(length))
        return
    tensor.raw_data = bytes(part)
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
