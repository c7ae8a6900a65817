"""What the layers between dequantize and quantize work on: numbers, and what these stand for."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from spirloom.ir import DType, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.rewrite import Matcher
from spirloom.weight_numbers import Filters, filters_of

DEQUANTIZE, QUANTIZE = "spirloom.dequantize", "spirloom.quantize"
_RANGES = {DType.I8: (-128, 127), DType.U8: (0, 255)}


@dataclass(frozen=True, slots=True)
class Numbers:
    """A tensor of 8-bit numbers of one scale and zero point."""

    tensor: Tensor
    scale: float
    zero: int

    @property
    def centred_zero(self) -> int:
        """The zero point of the numbers as int8."""
        return self.zero - (128 if self.tensor.dtype is DType.U8 else 0)

    def alike(self, other: Numbers) -> bool:
        """Whether numbers stand for the same in both."""
        return (self.scale, self.zero, self.tensor.dtype) == (
            other.scale, other.zero, other.tensor.dtype)  # fmt: skip


class Operands:
    """Finds numbers before and behind the nodes of a graph."""

    def __init__(self, matcher: Matcher, library: OpLibrary) -> None:
        self._matcher, self._library = matcher, library
        self._moved: dict[Tensor, Numbers] = {}

    def stand_for(self, value: Tensor, numbers: Numbers) -> None:
        """Notes that these are what is dequantised to a value, by way of moves."""
        self._moved[value] = numbers

    def result(self, node: Node) -> Numbers | None:
        """What a quantize gives, if it is all of a type's numbers."""
        if node.op != QUANTIZE:
            return None
        ends = tuple(self._library.arg(node, end) for end in ("quant_min", "quant_max"))
        y = node.outputs[0]
        return self._numbers(node, y) if ends == _RANGES.get(y.dtype) else None

    def operand(self, value: object) -> Numbers | None:
        """What is dequantised to a value."""
        if isinstance(value, Tensor) and value in self._moved:
            return self._moved[value]
        made = self._matcher.producer(value, DEQUANTIZE)
        x = self._library.arg(made, "x") if made is not None else None
        if made is None or not isinstance(x, Tensor) or made.outputs[0].dtype is not DType.F32:
            return None
        return self._numbers(made, x) if x.dtype in _RANGES and x.data is None else None

    def _numbers(self, node: Node, numbers: Tensor) -> Numbers | None:
        scale, zero = (self._library.arg(node, name) for name in ("scale", "zero_point"))
        data = [t.data for t in (scale, zero) if isinstance(t, Tensor) and t.data is not None]
        if len(data) != 2 or data[0].size != 1:
            return None
        size, centre = float(data[0].reshape(-1)[0]), int(data[1].reshape(-1)[0])
        low, high = _RANGES[numbers.dtype]
        usable = 0 < size < inf and low <= centre <= high
        return Numbers(numbers, size, centre) if usable else None

    def filters(self, value: object, groups: object = None) -> Filters | None:
        """The numbers of a layer's weight, if it is dequantised of constants; of a transposed
        convolution of so many groups, as those of a filter for each channel of its result."""
        turned, shape = False, None
        while (moved := self._matcher.producer(value, "aten.permute", "aten.view")) is not None:
            if moved.op == "aten.view":
                shape = shape or moved.outputs[0].shape
            elif shape or self._library.arg(moved, "dims") not in ((1, 0), (-1, -2)):
                return None
            else:
                turned = not turned
            value = moved.args[0]
        made = self._matcher.producer(value, DEQUANTIZE)
        if made is None or self._library.arg(made, "block_size"):
            return None
        given = [self._library.arg(made, name) for name in ("x", "scale", "zero_point")]
        data = [t.data for t in given if isinstance(t, Tensor) and t.data is not None]
        if len(data) != 3 or data[0].dtype not in (np.int8, np.uint8):
            return None
        x, scale, zero = data
        axis = self._library.arg(made, "axis")
        assert isinstance(axis, int)
        if scale.size != 1 and axis % x.ndim != (1 if turned or groups is not None else 0):
            return None
        scale, zero = scale.reshape(-1), zero.reshape(-1)
        if shape is not None:
            if turned or shape[:2] != x.shape[:2]:
                return None
            x = x.reshape(shape)
        if isinstance(groups, int):
            by_group = x.reshape(groups, -1, *x.shape[1:]).swapaxes(1, 2)
            x = by_group.reshape(-1, *by_group.shape[2:])
            scale, zero = (t if t.size == 1 else np.tile(t, groups) for t in (scale, zero))
        return filters_of(x.T if turned else x, scale, zero)

    def known(self, value: object) -> Tensor | None:
        """A constant of floats, or what constants are dequantised to."""
        if isinstance(value, Tensor) and value.data is not None:
            return value if value.dtype is DType.F32 else None
        made = self._matcher.producer(value, DEQUANTIZE)
        if made is None or any(t.data is None for t in made.inputs()):
            return None
        names = self._library.arg_names(DEQUANTIZE)
        args = {name: a.data if isinstance(a, Tensor) else a
                for name, a in zip(names, made.args, strict=True)}  # fmt: skip
        (found,) = self._library.compute(DEQUANTIZE, args)
        return constant(made.outputs[0].name, np.asarray(found, np.float32))
