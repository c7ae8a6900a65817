"""Weights that were uploaded: whether they are still what they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Frozen:
    """Tensors as they are now. Keeps them, so that no other one gets their memory."""

    def __init__(self, tensors: Mapping[Any, Any]) -> None:
        self._states = [(key, tensor, *_state(tensor)) for key, tensor in tensors.items()]

    def changed(self) -> list[Any]:
        """The keys of those that were written, or that lie elsewhere now."""
        return [
            key
            for key, tensor, version, address in self._states
            if tensor.data_ptr() != address or _version(tensor) != version
        ]


def _state(tensor: Any) -> tuple[int, int]:
    return _version(tensor), tensor.data_ptr()


def _version(tensor: Any) -> int:
    """How often it was written; those made in inference mode do not count."""
    return -1 if tensor.is_inference() else tensor._version
