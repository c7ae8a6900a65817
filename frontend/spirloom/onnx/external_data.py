"""Tensors of a model whose bytes lie in other files of its folder."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path, PurePosixPath

from onnx import ModelProto, TensorProto

from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure
from spirloom.onnx.messages import messages

# Tensors may share bytes, but a small file does not become a huge model.
_MOST_READS = 8


def load_external(model: ModelProto, model_path: Path) -> None:
    """Moves the bytes of such tensors into them. Raises ImportFailure."""
    read: Counter[Path] = Counter()
    for tensor in messages(model):
        if isinstance(tensor, TensorProto) and tensor.data_location == TensorProto.EXTERNAL:
            _load(tensor, model_path, read)


def _load(tensor: TensorProto, model_path: Path, read: Counter[Path]) -> None:
    entries = {entry.key: entry.value for entry in tensor.external_data}
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
                    f"{what} needs {length} bytes at {offset} of {path}, which has {size}."
                )
            read[path] += length
            if read[path] > _MOST_READS * size:
                raise ImportFailure(
                    f"{what} is stored in {path}, whose {size} bytes the model takes more than "
                    f"{_MOST_READS} times."
                )
            stream.seek(offset)
            tensor.raw_data = stream.read(length)
    except OSError as error:
        raise ImportFailure(
            f"{what} is stored in {path}, which cannot be read: {error.strerror}. "
            "Put the file beside the model."
        ) from error
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def _location(stated: str, what: str) -> PurePosixPath:
    location = PurePosixPath(stated)
    if not location.parts or location.is_absolute() or {"..", "\0"} & {*location.parts, *stated}:
        raise ImportFailure(
            f"{what} is stored in '{stated}', which is not a file in the model's folder."
        )
    return location
