"""Proves that narrower types (int32 for int64) compute the same results, call by call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import numpy as np

from spec_model import interval
from spec_model.interval import EVERYTHING, Interval
from spec_model.traits import Trait
from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.ir import DType, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.operator_bounds import bounds_of
from spirloom.value_bounds import (
    ValueRange,
    exact_interval,
    is_wide,
    known_of,
    reason_against,
)


class Narrowing:
    """The types and value ranges of a graph's tensors during import.

    `makers` are calls whose results have the ranges of their arguments until they are declared.
    """

    def __init__(
        self,
        library: OpLibrary,
        float64_as_float32: bool = False,
        assume_int32: bool = False,
        makers: Mapping[Tensor, Node] | None = None,
    ) -> None:
        self._library = library
        self._ranges: dict[Tensor, ValueRange] = {}
        self._float64_as_float32 = float64_as_float32
        self._assume_int32 = assume_int32
        self._makers = makers or {}

    def declare(self, tensor: Tensor, values: ValueRange) -> None:
        """Sets the type and the value range of a tensor that no call computes."""
        self._ranges[tensor] = values

    def dtype_of(self, tensor: Tensor) -> np.dtype[Any]:
        """The type of a tensor in the model."""
        return self.range_of(tensor).dtype

    def bounds_of(self, tensor: Tensor) -> Interval:
        """The value bounds of a tensor."""
        return self.range_of(tensor).bounds

    def is_known(self, tensor: Tensor) -> bool:
        """Whether the range of a tensor was declared or derived."""
        return tensor in self._ranges

    def range_of(self, tensor: Tensor) -> ValueRange:
        """The type and the value range of a tensor."""
        if tensor not in self._ranges:
            self._ranges[tensor] = self._default(tensor)
        return self._ranges[tensor]

    def _default(self, tensor: Tensor) -> ValueRange:
        own = tensor.dtype.numpy
        if tensor.data is not None:
            # An int32 constant may represent an int64 one; promotion with it is not wider.
            return ValueRange(own, interval.of_array(tensor.data))
        maker = self._makers.get(tensor)
        if maker is None:
            return ValueRange(own, interval.of_type(own))
        args = self._library.named_args(maker)
        index, count = maker.outputs.index(tensor), len(maker.outputs)
        bounds = bounds_of(self._library, maker.op, args, self._bounds, count)[index]
        types = [self.dtype_of(source) for source in self._selected(maker.op, args, index)]
        wide = next(filter(is_wide, types), None)
        return known_of(tensor.dtype, wide, bounds)

    def _selected(self, op: str, args: Mapping[str, object], index: int) -> list[Tensor]:
        """The tensors whose elements result `index` of a call consists of; none for others."""
        if self._library.output_dtypes(op)[index] or not self._library.has_trait(
            op, Trait.SELECTS, args
        ):
            return []  # indices, or bools, or computed
        return self._library.value_tensors(op, args)

    def retyped(
        self, build: Builder, tensor: Tensor, dtype: np.dtype[Any], name: str = ""
    ) -> Tensor:
        """The same values as another type of the model that the same device type represents.
        Raises Unsupported if a value may change."""
        found = ValueRange(dtype, self.bounds_of(tensor))
        if dtype.kind != "f":
            found = self._checked(tensor, found, name)
        view = build.emit("aten.view", x=tensor, size=tensor.shape)
        self._ranges[view] = found
        return view

    def follow(
        self,
        op: str,
        args: Mapping[str, object],
        results: Sequence[Tensor],
        dtypes: Sequence[np.dtype[Any] | None],
        name: str = "",
    ) -> tuple[Tensor, ...]:
        """Derives the value ranges of a call's results. Raises Unsupported if a result may not be
        exact in its device type. `dtypes` are the types of the first results in the model, None if
        it does not state one; `name` is for messages."""
        found = bounds_of(self._library, op, args, self._bounds, len(results))
        stated = chain(dtypes, repeat(None))
        for tensor, bounds, dtype in zip(results, found, stated, strict=False):
            if dtype is None:
                dtype = self._like(op, args, tensor.dtype)
            values = known_of(tensor.dtype, dtype, bounds)
            copies = self._float64_as_float32 or self._copies_floats(op, args)
            if dtype.kind != "f" or not copies:
                values = self._checked(tensor, values, name)
            self._ranges[tensor] = values
        return tuple(results)

    def _checked(self, tensor: Tensor, values: ValueRange, name: str) -> ValueRange:
        """The range. Raises Unsupported if the device type does not represent it."""
        if values.exact:
            return values
        if self._assume_int32 and values.dtype.kind in "iu":
            limits = exact_interval(values.dtype)
            fitting = values.bounds.clamped(limits.low, limits.high)
            return ValueRange(values.dtype, replace(fitting, integral=True))
        raise Unsupported(reason_against(name or tensor.name, tensor.dtype, values))

    def _copies_floats(self, op: str, args: Mapping[str, object]) -> bool:
        """Whether a call only copies floats, which float32 then represents."""
        if op == "aten._to_copy":
            source = args["x"]
            assert isinstance(source, Tensor)
            return self.dtype_of(source).kind == "f"
        return self._library.has_trait(op, Trait.EXACT, args)

    def _like(self, op: str, args: Mapping[str, object], ours: DType) -> np.dtype[Any]:
        """The type of a result that the model does not state: the widest of the arguments', of
        those first that have the operator's dtype. A constant is not wider than other arguments."""
        for values in (self._library.value_tensors(op, args), args.values()):
            tensors = [value for value in values if isinstance(value, Tensor)]
            types = [self.dtype_of(tensor) for tensor in tensors if tensor.dtype is ours]
            if types:
                return next(filter(is_wide, types), types[0])
        return np.dtype(np.int64) if ours is DType.I32 else ours.numpy

    def _bounds(self, item: object) -> Interval:
        return self.bounds_of(item) if isinstance(item, Tensor) else EVERYTHING
