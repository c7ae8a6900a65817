"""The weights in an archive: bytes of a storage, seen through sizes and strides."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from spirloom.bfloat16 import from_bfloat16
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array, is_possible
from spirloom.torch.element_types import BFLOAT16, NAMES, numpy_type
from spirloom.torch.json_fields import Json

if TYPE_CHECKING:
    from spirloom.torch.archive import Archive


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
