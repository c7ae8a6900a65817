"""Imports a Hugging Face model directory: safetensors weights, methods `prefill` and `decode`."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from codegen.regular_file import open_regular
from spirloom.bfloat16 import from_bfloat16
from spirloom.errors import ImportFailure
from spirloom.family import Arranged, Weights, make_methods
from spirloom.hf.config import read_config
from spirloom.hf.text_metadata import attachments_of
from spirloom.ir import Array, DType, Graph
from spirloom.ops import OpLibrary
from spirloom.passes.large_weights import LARGEST_WEIGHT
from spirloom.passes.weight_quantization import Quantisation

# Of a header, as the format's own library has it.
_MAX_HEADER_BYTES = 100_000_000
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
    if size > min(len(data) - 8, _MAX_HEADER_BYTES):
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


def import_folder(
    folder: Path,
    *,
    context: int | None = None,
    prompt: int | None = None,
    dtype: DType = DType.F32,
    quantize: Quantisation | None = None,
    largest: int = LARGEST_WEIGHT,
    library: OpLibrary | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Graph]:
    """The methods that `make_methods` makes. Weights and caches are of `dtype`, layers and tables
    as `quantize` says. Tokenizer and chat go along as attachments of the first; `tell` hears what
    of them is left out. Raises ImportFailure.
    """
    config = read_config(folder / "config.json", context)
    weights = Weights(Arranged(FolderTensors(folder), config), dtype, quantize)
    origin = f"a folder of {config.family}"
    methods = make_methods(
        config, weights, library or OpLibrary(), origin, context, prompt, largest
    )
    methods[0].attachments = attachments_of(folder, tell)
    return methods


class FolderTensors:
    """The tensors of a folder, mapped: a source of weights."""

    def __init__(self, folder: Path) -> None:
        self._arrays: dict[str, Array] = {}
        for path in _files(folder):
            self._arrays.update(read_tensors(path))

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return name in self._arrays

    def read(self, name: str) -> Array:
        """Its floats."""
        return self._arrays[name]

    def called(self, name: str) -> str:
        """Its name."""
        return name


def _files(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return [folder / "model.safetensors"]
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ImportFailure(f"{index} cannot be read: {error}.") from error
    bad = [name for name in names if not isinstance(name, str) or Path(name).name != name]
    if bad:
        raise ImportFailure(f"{index} names {bad[0]!r}, which is no file of the folder.")
    return [folder / name for name in names]
