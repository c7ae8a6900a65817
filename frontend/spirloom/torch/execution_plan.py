"""The steps of a compiled module's call: segments that read and write a list of values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spirloom.runtime import InvalidArgument, Model
from spirloom.runtime.arrays import to_torch
from spirloom.torch.in_place import is_dense

# The values of a call, by index.
Values = list[Any]
Step = Callable[[Values], None]


class HostStep:
    """A segment that torch runs. `inputs` and `outputs` are indices of values."""

    def __init__(self, module: Any, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        self._run = module.forward
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)

    def __call__(self, values: Values) -> None:
        results = self._run(*[values[i] for i in self._inputs])
        for i, result in zip(self._outputs, results, strict=True):
            values[i] = result


class DeviceStep:
    """A segment that a model runs. `inputs` and `outputs` are indices of values; `layouts` are
    torch's layouts of the outputs.

    `lock` serializes calls of the model. `fallback` computes the same in torch, for integer inputs
    outside the model's bounds.
    """

    def __init__(
        self,
        model: Model,
        inputs: Sequence[int],
        outputs: Sequence[int],
        layouts: Sequence[Layout],
        fallback: Step,
        lock: threading.Lock,
    ) -> None:
        self._model = model
        self._lock = lock
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._fallback = fallback
        self._is_bounded = any(info.dtype.kind in "iu" for info in model.inputs)
        infos = zip(layouts, model.outputs, strict=True)
        self._converters = [layout_converter(layout, info.dtype) for layout, info in infos]
        if not inputs:  # without input tensors, models return NumPy arrays
            self._converters = [convert or to_torch for convert in self._converters]

    def __call__(self, values: Values) -> None:
        arguments = [values[i] for i in self._inputs]
        try:
            with self._lock:
                results = self._model(*arguments)
        except InvalidArgument:
            if not self._is_bounded:
                raise
            self._fallback(values)
            return
        for i, result, convert in zip(self._outputs, results, self._converters, strict=True):
            values[i] = result if convert is None else convert(result)


@dataclass(frozen=True, slots=True)
class Layout:
    """The type and strided layout of a torch tensor, in elements."""

    dtype: Any
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    storage_offset: int

    @property
    def is_dense(self) -> bool:
        """Whether the layout is contiguous, row-major, with offset 0."""
        return is_dense(self.sizes, self.strides, self.storage_offset)


def layout_converter(layout: Layout, dtype: Any) -> Callable[[Any], Any] | None:
    """Converts a dense result of a NumPy type to the layout; None if it already matches."""
    import torch

    found = np.dtype(dtype)
    own = getattr(torch, found.names[0] if found.names else found.name)
    if layout.is_dense:
        return None if own is layout.dtype else lambda x: torch.as_tensor(x).to(layout.dtype)
    # Dimensions with stride 0 are broadcast: their element is written once.
    pairs = zip(layout.sizes, layout.strides, strict=True)
    written = tuple(1 if stride == 0 else size for size, stride in pairs)
    extent = sum((n - 1) * stride for n, stride in zip(written, layout.strides, strict=True))

    def convert(value: Any) -> Any:
        memory = torch.empty(layout.storage_offset + 1 + extent, dtype=layout.dtype)
        part = torch.as_tensor(value)[tuple(slice(0, size) for size in written)]
        memory.as_strided(written, layout.strides, layout.storage_offset).copy_(part)
        return memory.as_strided(layout.sizes, layout.strides, layout.storage_offset)

    return convert
