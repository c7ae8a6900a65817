"""Watches over what stands in for types that Spirloom lacks, such as int32 for int64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spirloom import interval
from spirloom.bounds.facts import Facts, known_of, reason_against
from spirloom.bounds.wide import narrow_type
from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.interval import EVERYTHING, Interval
from spirloom.ir import DType, Tensor
from spirloom.torch.bounds import SELECTING, bounds_of


class Narrowing:
    """The facts about the tensors of a graph while it is imported."""

    def __init__(self, float64_as_float32: bool = False) -> None:
        self._facts: dict[Tensor, Facts] = {}
        self._loose = float64_as_float32

    def declare(self, tensor: Tensor, facts: Facts) -> None:
        """States what is known of an input."""
        self._facts[tensor] = facts

    def dtype_of(self, tensor: Tensor) -> np.dtype[Any]:
        """torch's type of a tensor."""
        return self._of(tensor).dtype

    def bounds_of(self, tensor: Tensor) -> Interval:
        """The numbers that a tensor may hold."""
        return self._of(tensor).bounds

    def renamed(self, build: Builder, tensor: Tensor, dtype: np.dtype[Any]) -> Tensor:
        """The same numbers as another of torch's types for which the same one of ours stands."""
        facts = Facts(dtype, self._of(tensor).bounds)
        limits = interval.of_type(dtype) if dtype.kind in "iu" else EVERYTHING
        if not facts.bounds.within(limits):
            facts = Facts(dtype, limits)
        made = build.emit("aten.view", x=tensor, size=tensor.shape)
        self._facts[made] = facts
        return made

    def follow(
        self,
        op: str,
        args: Mapping[str, object],
        results: Sequence[Tensor],
        dtypes: Sequence[np.dtype[Any] | None],
    ) -> tuple[Tensor, ...]:
        """Learns about what a call gives; Unsupported if some is not known to be exact."""
        found = bounds_of(op, args, self._bounds, len(results))
        for i, (tensor, bounds) in enumerate(zip(results, found, strict=True)):
            dtype = dtypes[i] if i < len(dtypes) else None
            if dtype is None:
                dtype = self._like(args, tensor.dtype)
            facts = known_of(tensor.dtype, dtype, bounds)
            if not facts.exact and not self._same_floats(op, dtype):
                raise Unsupported(reason_against(tensor.name, tensor.dtype, facts))
            self._facts[tensor] = facts
        return tuple(results)

    def _same_floats(self, op: str, dtype: np.dtype[Any]) -> bool:
        """Whether float64 is only passed on, or its rounding accepted."""
        return dtype.kind == "f" and (self._loose or op in SELECTING or op == "aten._to_copy")

    def _like(self, args: Mapping[str, object], ours: DType) -> np.dtype[Any]:
        """torch's type of a result that the program does not tell: that of an argument."""
        for value in args.values():
            first = value[0] if isinstance(value, tuple) and value else value
            if isinstance(first, Tensor) and first.dtype is ours:
                return self._of(first).dtype
        return np.dtype(np.int64) if ours is DType.I32 else ours.numpy

    def _bounds(self, item: object) -> Interval:
        return self._of(item).bounds if isinstance(item, Tensor) else EVERYTHING

    def _of(self, tensor: Tensor) -> Facts:
        if tensor not in self._facts:
            own = tensor.dtype.numpy
            known = interval.of_type(own)
            if tensor.data is not None:
                known = interval.of_array(tensor.data)
            # A constant of int32 stands for one of int64: what promotes with it is no less wide.
            self._facts[tensor] = Facts(own, known)
        return self._facts[tensor]


def input_facts(dtype: np.dtype[Any], stated: Interval | None) -> Facts:
    """The facts about an input: without stated bounds it may be all that our type holds."""
    ours = interval.of_type(narrow_type(dtype).numpy) if dtype.kind in "biu" else EVERYTHING
    return Facts(dtype, ours if stated is None else stated)
