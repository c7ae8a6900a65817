"""Proves that int32 can replace int64 in a torch program, with bounds of index inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spec_model.traits import Trait
from spirloom import interval
from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.interval import EVERYTHING, Interval
from spirloom.ir import DType, Tensor
from spirloom.ops import OpLibrary
from spirloom.torch.bounds import bounds_of
from spirloom.torch.program import Kind, Program, Ref, SizeExpr
from spirloom.value_bounds import (
    ValueRange,
    exact_interval,
    known_of,
    narrow_type,
    reason_against,
)

# Operators with an index: the arguments of table and index, and the indexed dimension.
_INDEX_OPERANDS = {"aten.embedding": ("weight", "indices", 0)}
# Operators whose result has exactly the values of the first argument.
_VALUE_PRESERVING = frozenset({
    "aten.view", "aten.reshape", "aten.clone", "aten.unsqueeze", "aten.squeeze", "aten.expand",
    "aten.contiguous", "aten._to_copy", "aten.to.dtype", "aten.transpose.int", "aten.permute",
    "aten.alias", "aten.detach", "aten.flatten.using_ints", "aten._unsafe_view",
})  # fmt: skip


def index_ranges(program: Program) -> dict[str, Interval]:
    """The bounds of the inputs that index embedding tables."""
    same = {given.name: given.name for given in program.inputs if given.kind is Kind.USER}
    found: dict[str, Interval] = {}
    for call in program.calls:
        args = {arg.name: arg.value for arg in call.arguments}
        first = call.arguments[0].value if call.arguments else None
        if call.target in _VALUE_PRESERVING and isinstance(first, Ref) and first.name in same:
            same.update((r, same[first.name]) for r in call.results if isinstance(r, str))
        table, index, dim = _INDEX_OPERANDS.get(call.target, ("", "", 0))
        of, by = args.get(table), args.get(index)
        if not isinstance(of, Ref) or not isinstance(by, Ref) or by.name not in same:
            continue
        meta = program.metas.get(of.name)
        if meta is None or not meta.shape or isinstance(meta.shape[dim], SizeExpr):
            continue
        size = meta.shape[dim]
        assert isinstance(size, int)
        own = Interval(-size, max(size - 1, 0))
        before = found.get(same[by.name], own)
        found[same[by.name]] = Interval(max(own.low, before.low), min(own.high, before.high))
    return found


class Narrowing:
    """The types and value ranges of a graph's tensors during import."""

    def __init__(
        self, library: OpLibrary, float64_as_float32: bool = False, assume_int32: bool = False
    ) -> None:
        self._library = library
        self._facts: dict[Tensor, ValueRange] = {}
        self._float64_as_float32 = float64_as_float32
        self._assume_int32 = assume_int32

    def declare(self, tensor: Tensor, facts: ValueRange) -> None:
        """Sets the type and the value range of an input."""
        self._facts[tensor] = facts

    def dtype_of(self, tensor: Tensor) -> np.dtype[Any]:
        """torch's type of a tensor."""
        return self._of(tensor).dtype

    def bounds_of(self, tensor: Tensor) -> Interval:
        """The value bounds of a tensor."""
        return self._of(tensor).bounds

    def retyped(self, build: Builder, tensor: Tensor, dtype: np.dtype[Any]) -> Tensor:
        """The same values as another torch type that the same device type represents."""
        facts = ValueRange(dtype, self._of(tensor).bounds)
        limits = interval.of_type(dtype) if dtype.kind in "iu" else EVERYTHING
        if not facts.bounds.within(limits):
            facts = ValueRange(dtype, limits)
        view = build.emit("aten.view", x=tensor, size=tensor.shape)
        self._facts[view] = facts
        return view

    def follow(
        self,
        op: str,
        args: Mapping[str, object],
        results: Sequence[Tensor],
        dtypes: Sequence[np.dtype[Any] | None],
    ) -> tuple[Tensor, ...]:
        """Derives the value ranges of a call's results. Raises Unsupported if a result may not be
        exact in its device type."""
        found = bounds_of(self._library, op, args, self._bounds, len(results))
        for i, (tensor, bounds) in enumerate(zip(results, found, strict=True)):
            dtype = dtypes[i] if i < len(dtypes) else None
            if dtype is None:
                dtype = self._like(args, tensor.dtype)
            facts = known_of(tensor.dtype, dtype, bounds)
            if self._assume_int32 and facts.dtype.kind in "iu" and not facts.exact:
                limits = exact_interval(facts.dtype)
                facts = ValueRange(facts.dtype, facts.bounds.clamped(limits.low, limits.high))
            if not facts.exact and not self._allows_float64(op, args, dtype):
                raise Unsupported(reason_against(tensor.name, tensor.dtype, facts))
            self._facts[tensor] = facts
        return tuple(results)

    def _allows_float64(self, op: str, args: Mapping[str, object], dtype: np.dtype[Any]) -> bool:
        """Whether a float64 result is allowed: copied only, or rounding is accepted."""
        copies = self._library.has_trait(op, Trait.EXACT, args) or op == "aten._to_copy"
        return dtype.kind == "f" and (self._float64_as_float32 or copies)

    def _like(self, args: Mapping[str, object], ours: DType) -> np.dtype[Any]:
        """torch's type of a result that the program does not state: an argument's type."""
        for value in args.values():
            first = value[0] if isinstance(value, tuple) and value else value
            if isinstance(first, Tensor) and first.dtype is ours:
                return self._of(first).dtype
        return np.dtype(np.int64) if ours is DType.I32 else ours.numpy

    def _bounds(self, item: object) -> Interval:
        return self._of(item).bounds if isinstance(item, Tensor) else EVERYTHING

    def _of(self, tensor: Tensor) -> ValueRange:
        if tensor not in self._facts:
            own = tensor.dtype.numpy
            known = interval.of_type(own)
            if tensor.data is not None:
                known = interval.of_array(tensor.data)
            # An int32 constant may represent an int64 one; promotion with it is not wider.
            self._facts[tensor] = ValueRange(own, known)
        return self._facts[tensor]


def input_facts(dtype: np.dtype[Any], stated: Interval | None) -> ValueRange:
    """The type and value range of an input; by default the range of its device type."""
    ours = interval.of_type(narrow_type(dtype).numpy) if dtype.kind in "biu" else EVERYTHING
    return ValueRange(dtype, ours if stated is None else stated)
