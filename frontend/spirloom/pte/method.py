"""Methods of a program: tensors, constants and initial values of mutable buffers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from spec_model.flatbuffer import NOTHING, Member, Row
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array
from spirloom.pte.file import ProgramFile, ordered_array
from spirloom.torch.program import TensorMeta
from spirloom.torch.values import numpy_type

_EXTERNAL = 1  # TensorDataLocation


def label_of(index: int, row: Row) -> str:
    """A tensor's name or index, for messages."""
    extra = row["extra"]
    return f"'{extra['name']}'" if extra is not None and extra["name"] else f"value {index}"


def ints(meta: TensorMeta) -> tuple[int, ...]:
    """The fixed sizes."""
    return tuple(size for size in meta.shape if isinstance(size, int))


def memory_location(row: Row) -> tuple[int, int] | None:
    """The memory id and offset of a planned tensor; None if it is not planned."""
    allocation = row["allocation"]
    if allocation is None:
        return None
    return allocation["memory"], allocation["high"] << 32 | allocation["low"]


def is_external(row: Row) -> bool:
    """Whether the tensor's data is stored in another file."""
    return row["extra"] is not None and row["extra"]["location"] == _EXTERNAL


MAX_BYTES = 1 << 30  # of a buffer without a stored initial value


def constant(file: ProgramFile, row: Row, meta: TensorMeta, label: str) -> Array:
    """The value of a constant. Raises Unsupported, MalformedBuffer."""
    if not is_external(row):
        return _array(file.constant(row["data"]), row, meta, label)
    data = file.named(row["extra"]["name"])
    if data is None:
        raise Unsupported(
            f"{label} is in another file (.ptd); export the program with embedded constants"
        )
    return _array(data, row, meta, label)


def initial_value(file: ProgramFile, row: Row, meta: TensorMeta, label: str) -> Array:
    """The initial value of a mutable buffer: the stored one, else zeros."""
    if row["data"]:
        part = row["extra"]["mutable_segment"] if row["extra"] is not None else 0
        return _array(file.initial_value(part, row["data"]), row, meta, label)
    dtype = np.dtype(numpy_type(meta.dtype))
    size = prod(ints(meta)) * dtype.itemsize
    # Protects against small files that declare huge buffers.
    if size > MAX_BYTES:
        raise Unsupported(f"the buffer {label} has {size} bytes; the limit is {MAX_BYTES}")
    return np.zeros(ints(meta), dtype)


def _array(data: memoryview, row: Row, meta: TensorMeta, label: str) -> Array:
    """An array over the first bytes of `data`, transposed by the tensor's dim order."""
    return ordered_array(data, meta.dtype, ints(meta), row["dim_order"], label)


VULKAN, SPIRLOOM = "VulkanBackend", "SpirloomBackend"


def method_of(file: ProgramFile, name: str | None) -> Row:
    """A method by name; by default the only one, or `forward`. Raises ImportFailure."""
    methods: dict[str, Row] = {method["name"]: method for method in file.program["methods"]}
    if name is None:
        with_calls = [n for n, method in methods.items() if instructions(method)]
        name = with_calls[0] if len(with_calls) == 1 else "forward"
    if name not in methods:
        known = ", ".join(methods) or "none"
        raise ImportFailure(
            f"{file.path} has no method '{name}'; its methods are: {known}. Use --method NAME."
        )
    return methods[name]


def instructions(method: Row) -> list[Row]:
    """The instructions of all chains of a method."""
    return [row for chain in method["chains"] for row in chain["instructions"]]


def constant_names(values: Sequence[Member]) -> list[str]:
    """The names of the constant tensors of a method."""
    return [
        label_of(index, row)
        for index, (kind, row) in enumerate(values)
        if kind == "Tensor" and memory_location(row) is None and (row["data"] or is_external(row))
    ]


def state_names(method: Row) -> list[str]:
    """The names of the mutable buffers of a method: tensors with a stored initial value, and
    tensors that are only written in place."""
    values = [row["value"] or NOTHING for row in method["values"]]
    written: set[int] = set(method["inputs"])
    found = {i for i, (kind, row) in enumerate(values)
             if kind == "Tensor" and memory_location(row) is not None and row["data"]}  # fmt: skip
    for row in instructions(method):
        kind, call = row["action"] or NOTHING
        if kind in ("KernelCall", "DelegateCall") and call["args"]:
            in_place = kind == "KernelCall" and call["args"][-1] == call["args"][0]
            if in_place and call["args"][0] not in written:
                found.add(call["args"][0])
            written.update(call["args"][1:])
    tensors = {i: row for i, (kind, row) in enumerate(values) if kind == "Tensor"}
    return [label_of(i, tensors[i]) for i in sorted(found & tensors.keys())]
