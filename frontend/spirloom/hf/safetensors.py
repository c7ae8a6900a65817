"""Reads safetensors files, mapped; a file is hostile until checked."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from codegen.regular_file import open_regular
from spirloom.bfloat16 import from_bfloat16
from spirloom.errors import ImportFailure
from spirloom.ir import Array

# Of a header, as the format's own library has it.
_MOST_HEADER_BYTES = 100_000_000
_DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "F64": np.float64}


def read_tensors(path: Path) -> dict[str, Array]:
    """The float tensors of a file by name; bfloat16 as float32. Raises ImportFailure."""
    try:
        with open_regular(path) as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise ImportFailure(f"Cannot read {path}: {error}.") from error
    header, start = _header(path, data)
    content = np.frombuffer(data, np.uint8)[start:]
    names = (name for name in header if name != "__metadata__")
    return {name: _tensor(path, name, header[name], content) for name in names}


def _header(path: Path, data: mmap.mmap) -> tuple[Mapping[str, Any], int]:
    size = struct.unpack_from("<Q", data)[0] if len(data) >= 8 else len(data) + 1
    if size > min(len(data) - 8, _MOST_HEADER_BYTES):
        raise ImportFailure(f"{path} has {len(data)} bytes, and says its header has {size}.")
    try:
        header = json.loads(data[8 : 8 + size])
    except ValueError as error:
        raise ImportFailure(f"The header of {path} is no JSON: {error}.") from error
    if not isinstance(header, dict):
        raise ImportFailure(f"The header of {path} is no table of tensors.")
    return header, 8 + size


def _tensor(path: Path, name: str, entry: Any, content: Array) -> Array:
    try:
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape = tuple(int(size) for size in entry["shape"])
        begin, end = (int(offset) for offset in entry["data_offsets"])
        if min(shape, default=0) < 0 or not 0 <= begin <= end <= len(content):
            raise ValueError("its bytes are not in the file")
        values = content[begin:end].view(dtype).reshape(shape)
    except (KeyError, TypeError, ValueError) as error:
        raise ImportFailure(f"Tensor {name!r} of {path} cannot be read: {error}.") from error
    if entry["dtype"] == "BF16":
        return from_bfloat16(values)
    return values
