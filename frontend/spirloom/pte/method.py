"""Methods of a program, their tensors, and the constants and initial buffers that it stores."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from codegen.flatbuffer import MalformedBuffer
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array
from spirloom.pte.file import ProgramFile, array_of
from spirloom.pte.flatbuffer import NOTHING, Member, Row
from spirloom.torch.program import Meta
from spirloom.torch.values import numpy_type

_EXTERNAL = 1


def title_of(index: int, row: Row) -> str:
    """A tensor for people."""
    extra = row["extra"]
    return f"'{extra['name']}'" if extra is not None and extra["name"] else f"value {index}"


def ints(meta: Meta) -> tuple[int, ...]:
    """The sizes."""
    return tuple(size for size in meta.shape if isinstance(size, int))


def place_of(row: Row) -> tuple[int, int] | None:
    """Where in the program's memory a tensor lies."""
    at = row["allocation"]
    return None if at is None else (at["memory"], at["high"] << 32 | at["low"])


def is_external(row: Row) -> bool:
    """Whether its bytes lie in another file."""
    return row["extra"] is not None and row["extra"]["place"] == _EXTERNAL


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


VULKAN = "VulkanBackend"


def method_of(file: ProgramFile, name: str | None) -> Row:
    """A method by its name; without one `forward`, or the only one. Raises ImportFailure."""
    methods: dict[str, Row] = {method["name"]: method for method in file.program["methods"]}
    if name is None:
        with_calls = [n for n, method in methods.items() if instructions(method)]
        name = with_calls[0] if len(with_calls) == 1 else "forward"
    if name not in methods:
        known = ", ".join(methods) or "none"
        raise ImportFailure(f"{file.path} has no method '{name}', only: {known}. Give --method.")
    return methods[name]


def instructions(method: Row) -> list[Row]:
    """Those of all chains of a method; there is one."""
    return [row for chain in method["chains"] for row in chain["instructions"]]


def constant_names(values: Sequence[Member]) -> list[str]:
    """The tensors among the values of a method that are constants."""
    return [
        title_of(index, row)
        for index, (kind, row) in enumerate(values)
        if kind == "Tensor" and place_of(row) is None and (row["data"] or is_external(row))
    ]


def state_names(method: Row) -> list[str]:
    """The tensors of a method that are buffers which runs change: with a value of their own at
    first, or written in place and by nothing else."""
    values = [row["value"] or NOTHING for row in method["values"]]
    made: set[int] = set(method["inputs"])
    found = {i for i, (kind, row) in enumerate(values)
             if kind == "Tensor" and place_of(row) is not None and row["data"]}  # fmt: skip
    for row in instructions(method):
        kind, call = row["action"] or NOTHING
        if kind in ("KernelCall", "DelegateCall") and call["args"]:
            in_place = kind == "KernelCall" and call["args"][-1] == call["args"][0]
            if in_place and call["args"][0] not in made:
                found.add(call["args"][0])
            made.update(call["args"][1:])
    tensors = {i: row for i, (kind, row) in enumerate(values) if kind == "Tensor"}
    return [title_of(i, tensors[i]) for i in sorted(found & tensors.keys())]
