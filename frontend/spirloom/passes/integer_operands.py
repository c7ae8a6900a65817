"""Operands of layers between dequantize and quantize: int8 tensors with scales and zero points."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from spirloom.ir import ArgValue, DType, Node, Tensor, constant
from spirloom.layers.quantization import DEQUANTIZE, QUANT_RANGES, QUANTIZE, constant_operands
from spirloom.op_library import OpLibrary
from spirloom.passes.rewrite import COPY, Matcher
from spirloom.quantized_weights import Filters, filters_of


@dataclass(frozen=True, slots=True)
class QuantizedTensor:
    """A tensor of 8-bit values with one scale and zero point."""

    tensor: Tensor
    scale: float
    zero: int

    @property
    def centered_zero(self) -> int:
        """The zero point for the values as int8."""
        return self.zero - (128 if self.tensor.dtype is DType.U8 else 0)

    def alike(self, other: QuantizedTensor) -> bool:
        """Whether equal codes represent equal values in both tensors."""
        return (self.scale, self.zero, self.tensor.dtype) == (
            other.scale, other.zero, other.tensor.dtype)  # fmt: skip


class Operands:
    """Finds quantized tensors before and after the nodes of a graph."""

    def __init__(self, matcher: Matcher, library: OpLibrary) -> None:
        self._matcher, self._library = matcher, library
        self._moved: dict[Tensor, QuantizedTensor] = {}

    def stand_for(self, value: Tensor, quantized: QuantizedTensor) -> None:
        """Records the quantized tensor that is dequantized to a value, through data movement."""
        self._moved[value] = quantized

    def result(self, node: Node) -> QuantizedTensor | None:
        """The result of a quantize node, if it uses the full range of its dtype."""
        if node.op != QUANTIZE:
            return None
        ends = tuple(self._library.arg(node, end) for end in ("quant_min", "quant_max"))
        y = node.outputs[0]
        return self._quantized(node, y) if ends == QUANT_RANGES.get(y.dtype) else None

    def operand(self, value: object) -> QuantizedTensor | None:
        """The quantized tensor that is dequantized to a value."""
        if isinstance(value, Tensor) and value in self._moved:
            return self._moved[value]
        made = self._matcher.producer(value, DEQUANTIZE)
        x = self._library.arg(made, "x") if made is not None else None
        if made is None or not isinstance(x, Tensor) or made.outputs[0].dtype is not DType.F32:
            return None
        return self._quantized(made, x) if x.dtype in QUANT_RANGES and x.data is None else None

    def _quantized(self, node: Node, quantized: Tensor) -> QuantizedTensor | None:
        scale, zero = (self._library.arg(node, name) for name in ("scale", "zero_point"))
        data = [t.data for t in (scale, zero) if isinstance(t, Tensor) and t.data is not None]
        if len(data) != 2 or data[0].size != 1:
            return None
        size, center = float(data[0].reshape(-1)[0]), int(data[1].reshape(-1)[0])
        low, high = QUANT_RANGES[quantized.dtype]
        usable = 0 < size < inf and low <= center <= high
        return QuantizedTensor(quantized, size, center) if usable else None

    def filters(self, value: object, groups: object = None) -> Filters | None:
        """The quantized weight of a layer, if it is dequantized from constants. For a transposed
        convolution with `groups`, filters are ordered by output channel.
        """
        transposed, shape = False, None
        while (moved := self._matcher.producer(value, "aten.permute", "aten.view")) is not None:
            if moved.op == "aten.view":
                shape = shape or moved.outputs[0].shape
            elif shape or self._library.arg(moved, "dims") not in ((1, 0), (-1, -2)):
                return None
            else:
                transposed = not transposed
            value = moved.args[0]
        made = self._matcher.producer(value, DEQUANTIZE)
        if made is None or self._library.arg(made, "block_size"):
            return None
        operands = constant_operands(self._library, made)
        if operands is None:
            return None
        x, scale, zero = operands
        axis = self._library.arg(made, "axis")
        assert isinstance(axis, int)
        if scale.size != 1 and axis % x.ndim != (1 if transposed or groups is not None else 0):
            return None
        scale, zero = scale.reshape(-1), zero.reshape(-1)
        if shape is not None:
            if transposed or shape[:2] != x.shape[:2]:
                return None
            x = x.reshape(shape)
        if isinstance(groups, int):
            by_group = x.reshape(groups, -1, *x.shape[1:]).swapaxes(1, 2)
            x = by_group.reshape(-1, *by_group.shape[2:])
            scale, zero = (t if t.size == 1 else np.tile(t, groups) for t in (scale, zero))
        return filters_of(x.T if transposed else x, scale, zero)

    def known(self, value: object) -> Tensor | None:
        """A float constant, or the floats that a dequantize of constants computes."""
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


_XOR, _PAD = "aten.bitwise_xor.Tensor", "aten.constant_pad_nd"
# Operators that move elements, pad with zeros or take a maximum: they can run on quantized values.
_MOVES = ("aten.max_pool2d", "aten.view", "aten.permute", "aten.flatten.using_ints",
          "aten.slice.Tensor", "aten.squeeze.dims", "aten.unsqueeze", "aten.expand",
          "aten.select.int", _PAD)  # fmt: skip


class Centres:
    """Converts uint8 to int8 (minus 128), which the integer operators require. Each tensor is
    converted once.
    """

    def __init__(self, matcher: Matcher, library: OpLibrary, nodes: list[Node]) -> None:
        self._matcher, self._library, self._nodes = matcher, library, nodes
        self._centered: dict[Tensor, Tensor] = {}

    def append(self, op: str, name: str, y: Tensor, **args: object) -> Tensor:
        """Adds a node and returns its result."""
        self._nodes.append(Node(op, self._library.complete(op, args), (y,), name))
        return y

    def center(self, x: QuantizedTensor) -> Tensor:
        """The tensor as int8."""
        tensor = x.tensor
        if tensor.dtype is DType.I8:
            return tensor
        if tensor not in self._centered:
            y = Tensor(tensor.name, DType.I8, tensor.shape)
            made = self._matcher.producer(tensor, QUANTIZE)
            if made is not None:
                zero = constant("zero_point", np.array(x.centered_zero, np.int32))
                args = self._library.with_args(
                    made, zero_point=zero, quant_min=-128, quant_max=127, dtype="i8"
                )
                self._nodes.append(Node(QUANTIZE, args, (y,), made.name))
            else:
                middle = constant("middle", np.array(128, np.uint8))
                transposed = Tensor(tensor.name, DType.U8, tensor.shape)
                self.append(_XOR, tensor.name, transposed, a=tensor, b=middle)
                self.append(COPY, tensor.name, y, x=transposed, dtype="i8")
            self._centered[tensor] = y
        return self._centered[tensor]

    def wrap(self, made: Tensor, y: Tensor, name: str) -> None:
        """Produces the uint8 tensor y from int8."""
        self._centered[y] = made
        wrapped = self.append(COPY, name, Tensor(y.name, DType.U8, y.shape), x=made, dtype="u8")
        self.append(_XOR, name, y, a=wrapped, b=constant("middle", np.array(128, np.uint8)))

    def is_move(self, node: Node) -> bool:
        """Whether quantized values can be moved as a node moves floats."""
        return node.op in _MOVES and (node.op != _PAD or self._library.arg(node, "value") == 0)

    def move(self, node: Node, x: QuantizedTensor, y: Tensor) -> bool:
        """Adds a node that moves quantized values to y as `node` moves floats. Returns False if its
        operator does not support it.
        """
        direct = self._moving(node, x.tensor, x.zero)
        if x.tensor.dtype is DType.U8 and (x.tensor in self._centered or direct is None):
            made = Tensor(y.name, DType.I8, y.shape)
            args = self._moving(node, self.center(x), x.centered_zero)
            if args is not None:
                self._nodes.append(Node(node.op, args, (made,), node.name))
                self.wrap(made, y, node.name)
            return args is not None
        if direct is not None:
            self._nodes.append(Node(node.op, direct, (y,), node.name))
        return direct is not None

    def _moving(self, node: Node, x: Tensor, zero: int) -> tuple[ArgValue, ...] | None:
        """The node's args with x, if its operator supports them."""
        changes: dict[str, ArgValue] = {self._library.arg_names(node.op)[0]: x}
        if node.op == _PAD:
            changes["value"] = float(zero)
        args = self._library.with_args(node, **changes)
        return args if self._library.supports(node.op, args) else None
