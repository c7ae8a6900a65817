"""Weights that were uploaded: whether they are still what they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Frozen:
    """Tensors as they are now. Keeps them, so that no other one gets their memory."""

    def __init__(self, tensors: Mapping[Any, Any]) -> None:
        self._keys = list(tensors)
        self._tensors = list(tensors.values())
        self._addresses = [tensor.data_ptr() for tensor in self._tensors]
        # Those made in inference mode do not count how often they are written.
        self._counting = [tensor for tensor in self._tensors if not tensor.is_inference()]
        self._versions = [tensor._version for tensor in self._counting]

    def changed(self) -> list[Any]:
        """The keys of those that were written, or that lie elsewhere now."""
        versions = [tensor._version for tensor in self._counting]
        addresses = [tensor.data_ptr() for tensor in self._tensors]
        if versions == self._versions and addresses == self._addresses:
            return []
        pairs = zip(self._counting, versions, self._versions, strict=True)
        written = {id(tensor) for tensor, now, before in pairs if now != before}
        whole = zip(self._keys, self._tensors, addresses, self._addresses, strict=True)
        return [key for key, tensor, now, before in whole if now != before or id(tensor) in written]
