"""Outputs whose size depends on the data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from spirloom.runtime.arrays import Array
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
    if text is None:
        return OutputSizes()
    index = {info.name: i for i, info in enumerate(outputs)}
    found = json.loads(text)
    return OutputSizes(tuple((index[n], axis, index[size]) for n, (axis, size) in found.items()))
