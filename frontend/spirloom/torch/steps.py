"""What a compiled module does in a call: segments that read and write a list of values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from spirloom.runtime import InvalidArgument, Model

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
    """A segment that a model runs. `metas` are fake tensors that are as torch's results would be.

    `spare` computes the same by torch, for numbers beyond those that the model can take.
    """

    def __init__(
        self,
        model: Model,
        takes: Sequence[int],
        gives: Sequence[int],
        metas: Sequence[Any],
        spare: Step,
    ) -> None:
        import torch

        self._model = model
        self._lock = threading.Lock()
        self._takes = tuple(takes)
        self._gives = tuple(gives)
        self._spare = spare
        self._bfloat16 = torch.bfloat16
        self._float = torch.float32
        infos = zip(metas, model.outputs, strict=True)
        self._finish = [finisher(meta, info.dtype) for meta, info in infos]
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
            self._spare(values)
            return
        for at, value, finish in zip(self._gives, made, self._finish, strict=True):
            values[at] = value if finish is None else finish(value)


def finisher(meta: Any, dtype: Any) -> Callable[[Any], Any] | None:
    """What makes of a dense result one of the type and layout of `meta`; None if it is one."""
    import torch

    wanted = meta.dtype
    own = getattr(torch, str(dtype).replace("bool_", "bool"))
    sizes = tuple(int(size) for size in meta.shape)
    strides = tuple(int(stride) for stride in meta.stride())
    start = int(meta.storage_offset())
    plain = start == 0 and meta.is_contiguous()
    if plain:
        return None if own is wanted else lambda value: torch.as_tensor(value).to(wanted)

    def laid_out(value: Any) -> Any:
        source = torch.as_tensor(value)
        if 0 in sizes:
            return source.to(wanted)
        # What several places share is written once.
        once = tuple(1 if stride == 0 else size for size, stride in zip(sizes, strides, strict=True))
        end = start + 1 + sum((n - 1) * s for n, s in zip(once, strides, strict=True))
        memory = torch.empty(end, dtype=wanted)
        part = source[tuple(slice(0, size) for size in once)]
        memory.as_strided(once, strides, start).copy_(part)
        return memory.as_strided(sizes, strides, start)

    return laid_out
