"""What a compiled module does in a call: segments that read and write a list of values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spirloom.runtime import InvalidArgument, Model
from spirloom.torch.in_place import is_dense

# The values of a call; each has its place.
Values = list[Any]
Step = Callable[[Values], None]


class HostStep:
    """A segment that torch runs."""

    def __init__(self, module: Any, takes: Sequence[int], gives: Sequence[int]) -> None:
        self._run = module.forward
        self._takes = tuple(takes)
        self._gives = tuple(gives)

    def __call__(self, values: Values) -> None:
        given = self._run(*[values[at] for at in self._takes])
        for at, value in zip(self._gives, given, strict=True):
            values[at] = value


class DeviceStep:
    """A segment that a model runs. `layouts` are those of torch's results.

    Models take one call at a time, which `lock` sees to. `spare` computes the same by torch, for
    numbers beyond those that the model can take.
    """

    def __init__(
        self,
        model: Model,
        takes: Sequence[int],
        gives: Sequence[int],
        layouts: Sequence[Layout],
        spare: Step,
        lock: threading.Lock,
    ) -> None:
        import torch

        self._model = model
        self._lock = lock
        self._takes = tuple(takes)
        self._gives = tuple(gives)
        self._spare = spare
        self._is_bounded = any(info.dtype.kind in "iu" for info in model.inputs)
        self._bfloat16 = torch.bfloat16
        self._float = torch.float32
        infos = zip(layouts, model.outputs, strict=True)
        self._finish = [finisher(layout, info.dtype) for layout, info in infos]
        if not takes:  # without tensors to go by, models give arrays
            self._finish = [finish or torch.from_numpy for finish in self._finish]

    def __call__(self, values: Values) -> None:
        given = [values[at] for at in self._takes]
        for i, tensor in enumerate(given):
            if tensor.dtype is self._bfloat16:
                given[i] = tensor.to(self._float)
        try:
            with self._lock:
                made = self._model(*given)
        except InvalidArgument:
            if not self._is_bounded:
                raise
            self._spare(values)
            return
        for at, value, finish in zip(self._gives, made, self._finish, strict=True):
            values[at] = value if finish is None else finish(value)


@dataclass(frozen=True, slots=True)
class Layout:
    """How torch lays out a result."""

    dtype: Any
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    start: int

    @property
    def is_dense(self) -> bool:
        """Whether the elements follow each other in order."""
        return is_dense(self.sizes, self.strides, self.start)


def finisher(layout: Layout, dtype: Any) -> Callable[[Any], Any] | None:
    """What lays out a dense result of a NumPy type; None if nothing is to be done."""
    import torch

    own = getattr(torch, np.dtype(dtype).name)
    if layout.is_dense:
        return None if own is layout.dtype else lambda x: torch.as_tensor(x).to(layout.dtype)
    # What several places share is written once.
    pairs = zip(layout.sizes, layout.strides, strict=True)
    once = tuple(1 if stride == 0 else size for size, stride in pairs)
    reach = sum((n - 1) * stride for n, stride in zip(once, layout.strides, strict=True))

    def laid_out(value: Any) -> Any:
        memory = torch.empty(layout.start + 1 + reach, dtype=layout.dtype)
        part = torch.as_tensor(value)[tuple(slice(0, size) for size in once)]
        memory.as_strided(once, layout.strides, layout.start).copy_(part)
        return memory.as_strided(layout.sizes, layout.strides, layout.start)

    return laid_out
