"""Detects changes of uploaded weights."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

# Writes through `.data` or NumPy do not count as versions: contents are compared as well. Each call
# compares some words of each tensor, evenly spaced, and the next bytes of all weights in turn.
_SAMPLED_WORDS = 32
_WINDOW = 1 << 16  # bytes


class WeightSnapshot:
    """The versions, addresses and contents of tensors. Holds references, so that the memory is not
    reused.
    """

    def __init__(self, tensors: Mapping[Any, Any]) -> None:
        self._keys = list(tensors)
        self._tensors = list(tensors.values())
        self._addresses = [tensor.data_ptr() for tensor in self._tensors]
        # Tensors created in inference mode have no version counter.
        self._counting = [tensor for tensor in self._tensors if not tensor.is_inference()]
        self._versions = [tensor._version for tensor in self._counting]
        self._contents = _Contents(self._tensors)

    def changed(self) -> list[Any]:
        """The keys of tensors that were written or whose memory moved. Of writes that PyTorch does
        not count, those of whole tensors, and others as the bytes have their turn: at once for
        weights of 64 KiB in all.
        """
        versions = [tensor._version for tensor in self._counting]
        addresses = [tensor.data_ptr() for tensor in self._tensors]
        written = self._contents.written()
        if versions == self._versions and addresses == self._addresses and not written:
            return []
        pairs = zip(self._counting, versions, self._versions, strict=True)
        written |= {id(tensor) for tensor, now, before in pairs if now != before}
        rows = zip(self._keys, self._tensors, addresses, self._addresses, strict=True)
        return [key for key, tensor, now, before in rows if now != before or id(tensor) in written]


class _Contents:
    """Samples and checksums of the memory of tensors."""

    def __init__(self, tensors: list[Any]) -> None:
        memories = ((id(tensor), _memory(tensor)) for tensor in tensors)
        known = [(tensor, memory) for tensor, memory in memories if memory is not None]
        self._samples = [(tensor, _sample(memory)) for tensor, memory in known]
        self._sampled = [sample.tobytes() for _, sample in self._samples]
        # Consecutive parts of the memories, in groups of at least a window.
        self._groups: list[list[tuple[int, memoryview, int]]] = [[]]
        filled = 0
        for tensor, memory in known:
            for start in range(0, len(memory), _WINDOW):
                part = memory.data[start : start + _WINDOW]
                self._groups[-1].append((tensor, part, zlib.crc32(part)))
                filled += len(part)
                if filled >= _WINDOW:
                    self._groups.append([])
                    filled = 0
        self._next = 0

    def written(self) -> set[int]:
        """The ids of the tensors that were found to have other contents."""
        now = [sample.tobytes() for _, sample in self._samples]
        found: set[int] = set()
        if now != self._sampled:
            rows = zip(self._samples, now, self._sampled, strict=True)
            found = {tensor for (tensor, _), value, before in rows if value != before}
        group = self._groups[self._next % len(self._groups)]
        self._next += 1
        return found | {tensor for tensor, part, before in group if zlib.crc32(part) != before}


def _memory(tensor: Any) -> Bytes | None:
    """The bytes of a tensor's elements, not copied; None if they are not one block of the host's
    memory.
    """
    import torch

    if tensor.device.type != "cpu" or tensor.layout is not torch.strided or tensor.numel() == 0:
        return None
    order = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
    dense = tensor.detach().permute(order)  # such as channels last
    if not dense.is_contiguous():
        return None
    memory: Bytes = dense.reshape(-1).view(torch.uint8).numpy()
    return memory


def _sample(memory: Bytes) -> npt.NDArray[Any]:
    words: npt.NDArray[Any] = memory
    if len(memory) >= 4:
        words = memory[: len(memory) // 4 * 4].view(np.uint32)
    return words[:: max(len(words) // _SAMPLED_WORDS, 1)]
