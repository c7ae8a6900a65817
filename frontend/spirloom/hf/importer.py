"""Imports a Hugging Face model directory as the methods `prefill` and `decode` of a graph file."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from spec_model.flatbuffer import MalformedBuffer
from spirloom.deferred import Deferred
from spirloom.errors import ImportFailure
from spirloom.family import LanguageOptions, StoredTensor, context_of, floats_of, import_methods
from spirloom.hf.config import read_config
from spirloom.hf.json_files import parse_object, read_bytes
from spirloom.hf.text_metadata import attachments_of
from spirloom.ir import Array, DType, Graph
from spirloom.mapped_file import array_in, mapped
from spirloom.quantized_weights import Float8Matrix

# The limit of the safetensors library.
_MAX_HEADER_BYTES = 100_000_000
_DTYPES = {
    "F32": DType.F32.numpy,
    "F16": DType.F16.numpy,
    "BF16": DType.BF16.numpy,
    "F64": np.dtype("<f8"),
    "F8_E4M3": DType.F8E4M3.numpy,
    "F8_E5M2": DType.F8E5M2.numpy,
}
_F8 = (DType.F8E4M3.numpy, DType.F8E5M2.numpy)


def read_tensors(path: Path) -> dict[str, Array | Deferred]:
    """Maps the float tensors of a safetensors file, by name; bfloat16 matrices are read when they
    are written. Raises ImportFailure."""
    data = mapped(path)
    header, start = _header(path, data)
    content = data[start:]
    names = (name for name in header if name != "__metadata__")
    return {name: _tensor(path, name, header[name], content) for name in names}


def _header(path: Path, data: memoryview) -> tuple[Mapping[str, Any], int]:
    size = struct.unpack_from("<Q", data)[0] if len(data) >= 8 else len(data) + 1
    if size > min(len(data) - 8, _MAX_HEADER_BYTES):
        raise ImportFailure(f"{path} has {len(data)} bytes, but its header needs {size}.")
    return parse_object(bytes(data[8 : 8 + size]), f"The header of {path}"), 8 + size


def _tensor(path: Path, name: str, entry: Any, content: memoryview) -> Array | Deferred:
    try:
        dtype = _DTYPES[entry["dtype"]]
        shape = tuple(int(size) for size in entry["shape"])
        begin, end = (int(offset) for offset in entry["data_offsets"])
        values = array_in(content, begin, dtype, shape, "it")
        if values.nbytes != end - begin:
            raise ValueError(f"it has {end - begin} bytes for {dtype} of shape {list(shape)}")
    except (KeyError, TypeError, ValueError, OverflowError, MalformedBuffer) as error:
        raise ImportFailure(f"Tensor {name!r} of {path} cannot be read: {error}.") from error
    return Deferred.of(values) if dtype == DType.BF16.numpy and values.ndim == 2 else values


def import_directory(
    directory: Path,
    *,
    log: Callable[[str], None] = lambda _: None,
    **options: Unpack[LanguageOptions],
) -> list[Graph]:
    """Imports a model directory. The first method has the tokenizer and the text metadata as
    attachments; `log` receives a line for each that is omitted. Raises ImportFailure.
    """
    path = directory / "config.json"
    options["context"] = context_of(options, read_config(path).context)
    config = read_config(path, options["context"])
    source = SafetensorsSource(directory)
    origin = f"a directory of {config.family}"
    methods = import_methods(config, source, origin, **options)
    methods[0].attachments = attachments_of(directory, log)
    return methods


class SafetensorsSource:
    """The mapped safetensors of a directory."""

    def __init__(self, directory: Path) -> None:
        self._arrays: dict[str, Array | Deferred] = {}
        for path in _files(directory):
            self._arrays.update(read_tensors(path))

    def has(self, name: str) -> bool:
        """Whether the tensor exists."""
        return name in self._arrays

    def read(self, name: str) -> StoredTensor:
        """The tensor's floats, or the f8 matrix with the scales NAME_scale: of the matrix, or of
        each row."""
        stored = self._arrays[name]
        if stored.dtype not in _F8:
            return stored
        scale = np.ones(1, np.float32)
        if f"{name}_scale" in self._arrays:
            scale = floats_of(self._arrays[f"{name}_scale"]).astype(np.float32).reshape(-1)
        if (
            len(stored.shape) != 2
            or scale.size not in (1, stored.shape[0])
            or f"{name}_scale_inv" in self._arrays
        ):
            raise ImportFailure(
                f"Tensor {name!r} has 8-bit floats with scales per block, which are not supported; "
                f"expected a matrix with a scale {name + '_scale'!r} of the matrix or of each row."
            )
        return Float8Matrix(stored, np.broadcast_to(scale, stored.shape[:1]).copy())

    def name_in_file(self, name: str) -> str:
        """The same name."""
        return name


def _files(directory: Path) -> list[Path]:
    index = directory / "model.safetensors.index.json"
    if not index.exists():
        return [directory / "model.safetensors"]
    content = parse_object(read_bytes(index), str(index))
    try:
        names = sorted(set(content["weight_map"].values()))
    except (KeyError, TypeError, AttributeError) as error:
        raise ImportFailure(f"Cannot read {index}: {error}.") from error
    bad = [name for name in names if not isinstance(name, str) or Path(name).name != name]
    if bad:
        raise ImportFailure(f"{index} names {bad[0]!r}, which is not a file of the directory.")
    return [directory / name for name in names]
