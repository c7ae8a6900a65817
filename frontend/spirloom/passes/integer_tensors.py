"""Tensors of 8-bit numbers in a graph in the making: as int8, and moved."""

from __future__ import annotations

import numpy as np

from spirloom.ir import ArgValue, DType, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.integer_operands import QUANTIZE, Numbers
from spirloom.passes.rewrite import COPY, Matcher

_XOR, _PAD = "aten.bitwise_xor.Tensor", "aten.constant_pad_nd"
# What moves elements, puts zeros around them, or takes the greatest: these may as well be numbers.
_MOVES = ("aten.max_pool2d", "aten.view", "aten.permute", "aten.flatten.using_ints",
          "aten.slice.Tensor", "aten.squeeze.dims", "aten.unsqueeze", "aten.expand",
          "aten.select.int", _PAD)  # fmt: skip


class Centres:
    """uint8 is int8 less 128, which operators of numbers take: each tensor is changed once."""

    def __init__(self, matcher: Matcher, library: OpLibrary, nodes: list[Node]) -> None:
        self._matcher, self._library, self._nodes = matcher, library, nodes
        self._centred: dict[Tensor, Tensor] = {}

    def append(self, op: str, name: str, y: Tensor, **args: object) -> Tensor:
        """Adds a node; what it gives."""
        self._nodes.append(Node(op, self._library.complete(op, args), (y,), name))
        return y

    def centre(self, x: Numbers) -> Tensor:
        """The numbers as int8."""
        tensor = x.tensor
        if tensor.dtype is DType.I8:
            return tensor
        if tensor not in self._centred:
            y = Tensor(tensor.name, DType.I8, tensor.shape)
            made = self._matcher.producer(tensor, QUANTIZE)
            if made is not None:
                zero = constant("zero_point", np.array(x.centred_zero, np.int32))
                args = self._library.with_args(
                    made, zero_point=zero, quant_min=-128, quant_max=127, dtype="i8"
                )
                self._nodes.append(Node(QUANTIZE, args, (y,), made.name))
            else:
                middle = constant("middle", np.array(128, np.uint8))
                turned = Tensor(tensor.name, DType.U8, tensor.shape)
                self.append(_XOR, tensor.name, turned, a=tensor, b=middle)
                self.append(COPY, tensor.name, y, x=turned, dtype="i8")
            self._centred[tensor] = y
        return self._centred[tensor]

    def wrap(self, made: Tensor, y: Tensor, name: str) -> None:
        """uint8 y of int8."""
        self._centred[y] = made
        wrapped = self.append(COPY, name, Tensor(y.name, DType.U8, y.shape), x=made, dtype="u8")
        self.append(_XOR, name, y, a=wrapped, b=constant("middle", np.array(128, np.uint8)))

    def is_move(self, node: Node) -> bool:
        """Whether numbers may be moved as a node moves floats."""
        return node.op in _MOVES and (node.op != _PAD or self._library.arg(node, "value") == 0)

    def move(self, node: Node, x: Numbers, y: Tensor) -> bool:
        """Adds what moves numbers to y as a node moves floats; False if its operator does not."""
        direct = self._moving(node, x.tensor, x.zero)
        if x.tensor.dtype is DType.U8 and (x.tensor in self._centred or direct is None):
            made = Tensor(y.name, DType.I8, y.shape)
            args = self._moving(node, self.centre(x), x.centred_zero)
            if args is not None:
                self._nodes.append(Node(node.op, args, (made,), node.name))
                self.wrap(made, y, node.name)
            return args is not None
        if direct is not None:
            self._nodes.append(Node(node.op, direct, (y,), node.name))
        return direct is not None

    def _moving(self, node: Node, x: Tensor, zero: int) -> tuple[ArgValue, ...] | None:
        """The node's args with x, if its operator takes them."""
        changes: dict[str, ArgValue] = {self._library.arg_names(node.op)[0]: x}
        if node.op == _PAD:
            changes["value"] = float(zero)
        args = self._library.with_args(node, **changes)
        return args if self._library.takes(node.op, args) else None
