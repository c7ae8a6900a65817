"""The weights of programs that ExecuTorch gives its partitioners: tensors without data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from spirloom.ir import Array
from spirloom.torch.exported import TensorWeights


class PartitionWeights(TensorWeights):
    """The numbers behind such tensors, where torch still knows them; else ones or zeros.

    Scalars of the model's code are among them, on which much depends.
    """

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        real = _real_ones(tensors.values())
        super().__init__({name: real.get(id(tensor), tensor) for name, tensor in tensors.items()})

    def __getitem__(self, name: str) -> Array:
        tensor = self._tensors[name]
        if not _is_fake(tensor):
            return super().__getitem__(name)
        # Ones can be divided by; of whole numbers zeros are places that every table has.
        dtype = str(tensor.dtype).removeprefix("torch.").replace("bfloat16", "float32")
        number = np.ones((), dtype) if tensor.is_floating_point() else np.zeros((), dtype)
        return np.broadcast_to(number, tuple(tensor.shape))


def _is_fake(tensor: Any) -> bool:
    from torch._subclasses import FakeTensor

    return isinstance(tensor, FakeTensor)


def _real_ones(tensors: Iterable[Any]) -> dict[int, Any]:
    """What fake tensors were made of, by their ids: a mode keeps both by one number."""
    modes = {id(tensor.fake_mode): tensor.fake_mode for tensor in tensors if _is_fake(tensor)}
    found: dict[int, Any] = {}
    for mode in modes.values():
        try:
            converter = mode.fake_tensor_converter.meta_converter
            fakes, numbers = converter.tensor_memo, converter.describer.lookup_tensor
            found |= {id(fakes[at]): real for real, at in numbers.items() if at in fakes}
        except AttributeError:  # these are torch's own, and may change
            continue
    return found
