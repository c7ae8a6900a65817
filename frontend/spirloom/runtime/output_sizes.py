"""Outputs whose size depends on the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from spirloom.runtime.arrays import Array
from spirloom.runtime.errors import InvalidFile
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.tensors import TensorInfo, read_attachments

ATTACHMENT = "spirloom.output_sizes"  # JSON: output → [axis, output with the size]


@dataclass(frozen=True, slots=True)
class OutputSizes:
    """Which outputs have valid elements only at the start of an axis.

    `cuts` are the index of an output, the axis, and the index of the output with the number of
    valid elements.
    """

    cuts: tuple[tuple[int, int, int], ...] = ()

    def cut(self, arrays: Sequence[Array]) -> list[Array]:
        """All outputs with their own sizes, without those that contain sizes."""
        found = list(arrays)
        for i, axis, size in self.cuts:
            valid = (*(slice(None) for _ in range(axis)), slice(int(arrays[size])))
            found[i] = found[i][valid]
        sizes = {size for _, _, size in self.cuts}
        return [array for i, array in enumerate(found) if i not in sizes]


def read_output_sizes(library: Native, model: Handle, outputs: Sequence[TensorInfo]) -> OutputSizes:
    """The sizes that the attachment of a file describes; none if it has no such attachment."""
    text = read_attachments(library, model, only=ATTACHMENT).get(ATTACHMENT)
    return OutputSizes() if text is None else parse_output_sizes(text, outputs)


def parse_output_sizes(text: bytes, outputs: Sequence[TensorInfo]) -> OutputSizes:
    """Reads the attachment of a file of untrusted origin. Raises InvalidFile."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise _damaged("is not an object")
    index = {info.name: i for i, info in enumerate(outputs)}
    cuts = tuple(_cut(name, value, index, outputs) for name, value in found.items())
    if {i for i, _, _ in cuts} & {size for _, _, size in cuts}:
        raise _damaged("names an output as a size that has a size itself")
    return OutputSizes(cuts)


def _cut(
    name: str, value: object, index: Mapping[str, int], outputs: Sequence[TensorInfo]
) -> tuple[int, int, int]:
    if name not in index:
        raise _damaged(f"names '{name}', which is not an output")
    match value:
        case [int(axis), str(size)] if not isinstance(axis, bool):
            pass
        case _:
            raise _damaged(f"has {str(value)[:40]!r} for '{name}'; expected [axis, output]")
    rank = len(outputs[index[name]].shape)
    if not 0 <= axis < rank:
        raise _damaged(f"has axis {axis} for '{name}' of rank {rank}")
    if size not in index:
        raise _damaged(f"names '{size}', which is not an output")
    info = outputs[index[size]]
    if prod(info.shape) != 1 or info.dtype.kind not in "iu":
        raise _damaged(f"names '{size}' as a size, which is {info}; expected one integer")
    return index[name], axis, index[size]


def _damaged(reason: str) -> InvalidFile:
    what = f"its attachment '{ATTACHMENT}' {reason}"
    return InvalidFile(f"The graph file is damaged: {what}. Import the model again.")
