"""What a program stores of its tensors: constants, and what buffers that runs change hold first."""

from __future__ import annotations

from math import prod

import numpy as np

from codegen.flatbuffer import MalformedBuffer
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.pte.element_types import array_of
from spirloom.pte.file import ProgramFile
from spirloom.pte.flatbuffer import Row
from spirloom.pte.tensors import ints, is_external
from spirloom.torch.element_types import numpy_type
from spirloom.torch.program import Meta

MAX_BYTES = 1 << 30  # of a buffer for which a program stores nothing


def constant(file: ProgramFile, row: Row, meta: Meta, title: str) -> Array:
    """The numbers of a constant. Raises Unsupported, MalformedBuffer."""
    if not is_external(row):
        return _array(file.constant(row["data"]), row, meta, title)
    data = file.named(row["extra"]["name"])
    if data is None:
        raise Unsupported(f"{title} lies in another file (.ptd); export with the constants inside")
    return _array(data, row, meta, title)


def first_value(file: ProgramFile, row: Row, meta: Meta, title: str) -> Array:
    """What a buffer holds first: zeros, as ExecuTorch's memory, unless the program says."""
    if row["data"]:
        part = row["extra"]["mutable_segment"] if row["extra"] is not None else 0
        return _array(file.first_value(part, row["data"]), row, meta, title)
    dtype = np.dtype(numpy_type(meta.dtype))
    size = prod(ints(meta)) * dtype.itemsize
    # A file of a few bytes could ask for any number.
    if size > MAX_BYTES:
        raise Unsupported(f"the buffer {title} has {size} bytes, more than {MAX_BYTES}")
    return np.zeros(ints(meta), dtype)


def _array(data: memoryview, row: Row, meta: Meta, title: str) -> Array:
    """The first of these bytes; dimensions lie in an order of their own."""
    shape = ints(meta)
    order = list(row["dim_order"]) or list(range(len(shape)))
    if sorted(order) != list(range(len(shape))):
        raise MalformedBuffer(f"{title} has the order of dims {order}")
    stored = array_of(data, meta.dtype, tuple(shape[d] for d in order), title)
    return stored.transpose([order.index(d) for d in range(len(order))])
