"""Detects changes of uploaded weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class WeightSnapshot:
    """The versions and addresses of tensors. Holds references, so that the memory is not reused."""

    def __init__(self, tensors: Mapping[Any, Any]) -> None:
        self._keys = list(tensors)
        self._tensors = list(tensors.values())
        self._addresses = [tensor.data_ptr() for tensor in self._tensors]
        # Tensors created in inference mode have no version counter.
        self._counting = [tensor for tensor in self._tensors if not tensor.is_inference()]
        self._versions = [tensor._version for tensor in self._counting]

    def changed(self) -> list[Any]:
        """The keys of tensors that were written or whose memory moved."""
        versions = [tensor._version for tensor in self._counting]
        addresses = [tensor.data_ptr() for tensor in self._tensors]
        if versions == self._versions and addresses == self._addresses:
            return []
        pairs = zip(self._counting, versions, self._versions, strict=True)
        written = {id(tensor) for tensor, now, before in pairs if now != before}
        rows = zip(self._keys, self._tensors, addresses, self._addresses, strict=True)
        return [key for key, tensor, now, before in rows if now != before or id(tensor) in written]
