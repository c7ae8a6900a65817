"""Layers between dequantize and quantize compute with the numbers themselves."""

from __future__ import annotations

from math import inf

import numpy as np

from spirloom.ir import ArgValue, DType, Graph, Node, Tensor, constant
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.integer_operands import QUANTIZE, Numbers, Operands
from spirloom.passes.rewrite import ADD, CLAMPS, COPY, Matcher, fused_name, limits

_XOR, _RELU = "aten.bitwise_xor.Tensor", "aten.relu"
# The layers, with what their weights and biases are called by both operators.
_LAYERS = {"aten.convolution": "spirloom.convolution_i8", "aten.linear": "spirloom.linear_i8"}
_PLACES = ("stride", "padding", "dilation", "groups")
# What moves elements, or takes the greatest: these may as well be numbers.
_MOVES = ("aten.max_pool2d", "aten.view", "aten.permute", "aten.flatten.using_ints",
          "aten.slice.Tensor", "aten.squeeze.dims", "aten.unsqueeze", "aten.expand",
          "aten.select.int")  # fmt: skip


def fuse_integers(graph: Graph, library: OpLibrary) -> None:
    """quantize(layer(dequantize(x))) becomes one call, and so do sums; moves take numbers.

    A layer whose result is not quantised gives floats. uint8 becomes int8 less 128, which only the
    graph's inputs and outputs are changed for.
    """
    if library.has("spirloom.convolution_i8"):
        _Fusion(graph, library).run()


class _Fusion:
    """One pass over a graph: `_nodes` are those that take the place of its own."""

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph, self._library = graph, library
        self._matcher = Matcher(graph)
        self._operands = Operands(self._matcher, library)
        self._nodes: list[Node] = []
        self._centred: dict[Tensor, Tensor] = {}

    def run(self) -> None:
        for node in self._graph.nodes:
            if not (self._quantised(node) if node.op == QUANTIZE else self._floats(node)):
                self._nodes.append(node)
        self._graph.nodes = self._nodes
        remove_dead_nodes(self._graph)

    def _quantised(self, node: Node) -> bool:
        """Puts a call in the place of a quantize and what makes its input."""
        y = self._operands.result(node)
        made = self._matcher.producer(self._library.arg(node, "x"))
        if y is None or made is None:
            return False
        if self._moved(made, y):
            return True
        parts: list[Node] = [node]
        value: ArgValue = made.outputs[0]
        finish = self._activation(made)
        if finish is not None:
            parts, value = [made, node], made.args[0]
        found = self._call(value, y, self._matcher.private(made.outputs[0]))
        if found is None:
            return False
        op, layer, args = found
        return self._put(op, {**args, **(finish or {})}, y.tensor, fused_name(layer, *parts))

    def _call(
        self, value: object, y: Numbers, private: bool
    ) -> tuple[str, Node, dict[str, object]] | None:
        """The operator of numbers that gives a value, the node that it takes the place of, and its
        args; a value that is dequantised only changes its scale. Layers are not computed twice:
        what follows them must be `private` too."""
        result = {"y_scale": y.scale, "y_zero": y.centred_zero}
        x, back = self._operands.operand(value), self._matcher.producer(value)
        if x is not None and back is not None:
            return "spirloom.rescale_i8", back, {**self._term("a", x), **result}
        made = self._matcher.inner(value)
        if made is None or not private:
            return None
        args = self._layer(made) if made.op in _LAYERS else self._sum(made)
        if args is None:
            return None
        return _LAYERS.get(made.op, "spirloom.add_i8"), made, {**args, **result}

    def _floats(self, node: Node) -> bool:
        """Puts a call that gives floats in the place of a layer whose result is not quantised."""
        if node.op not in _LAYERS or self._is_quantised(node.outputs[0]):
            return False
        args = self._layer(node)
        return args is not None and self._put(
            _LAYERS[node.op], {**args, "dtype": "f32"}, node.outputs[0], node.name
        )

    def _is_quantised(self, value: Tensor) -> bool:
        """Whether its one reader, perhaps behind an activation, will be found as a quantize."""
        reader = self._matcher.reader(value)
        if reader is not None and self._activation(reader) is not None:
            reader = self._matcher.reader(reader.outputs[0])
        return reader is not None and self._operands.result(reader) is not None

    def _put(self, op: str, args: dict[str, object], y: Tensor, name: str) -> bool:
        """Appends a call whose result is y; False if the operator does not take it."""
        try:
            values = self._library.complete(op, args)
            ((shape, dtype),) = self._library.infer(op, values)
        except OpError:  # a form that it does not have
            return False
        assert shape == y.shape, f"{op} gives {shape} for {y}"
        if dtype is y.dtype:
            self._nodes.append(Node(op, values, (y,), name))
            return True
        made = Tensor(y.name, dtype, y.shape)
        self._nodes.append(Node(op, values, (made,), name))
        self._centred[y] = made
        wrapped = self._append(COPY, name, Tensor(y.name, DType.U8, y.shape), x=made, dtype="u8")
        self._append(_XOR, name, y, a=wrapped, b=constant("middle", np.array(128, np.uint8)))
        return True

    def _append(self, op: str, name: str, y: Tensor, **args: object) -> Tensor:
        self._nodes.append(Node(op, self._library.complete(op, args), (y,), name))
        return y

    def _layer(self, node: Node) -> dict[str, object] | None:
        """The args of a layer of numbers, without those of its result."""
        plain = not any(self._library.arg(node, name) for name in ("activation", "addend"))
        x = self._operands.operand(self._library.arg(node, "x"))
        weight = self._operands.filters(self._library.arg(node, "weight"))
        bias = self._library.arg(node, "bias")
        known = self._operands.known(bias)
        if not plain or x is None or weight is None or (bias is not None and known is None):
            return None
        names = _PLACES if node.op == "aten.convolution" else ()
        given = {name: self._library.arg(node, name) for name in names}
        return {
            **given,
            "x": self._centre(x),
            "x_scale": x.scale,
            "x_zero": x.centred_zero,
            **weight.arguments(),
            "bias": known,
        }

    def _sum(self, node: Node) -> dict[str, object] | None:
        """The args of a sum of numbers, without those of its result."""
        if node.op != ADD or not self._library.is_plain(node):
            return None
        a, b = (self._operands.operand(value) for value in node.args[:2])
        if a is None or b is None or a.tensor.shape != b.tensor.shape:
            return None
        return {**self._term("a", a), **self._term("b", b)}

    def _term(self, name: str, x: Numbers) -> dict[str, object]:
        return {name: self._centre(x), f"{name}_scale": x.scale, f"{name}_zero": x.centred_zero}

    def _moved(self, node: Node, y: Numbers) -> bool:
        """Moves numbers as a node moves what they stand for, if they do so before and after."""
        many = node.op == "aten.cat"
        values = node.args[0] if many else node.args[:1]
        if node.op not in (*_MOVES, "aten.cat") or not isinstance(values, tuple):
            return False
        found = [self._operands.operand(value) for value in values]
        terms = [x.tensor for x in found if x is not None and x.alike(y)]
        if len(terms) != len(found):
            return False
        x: ArgValue = tuple(terms) if many else terms[0]
        args = self._library.with_args(node, **{self._library.arg_names(node.op)[0]: x})
        if not self._library.takes(node.op, args):  # such as uint8 in windows
            return False
        self._nodes.append(Node(node.op, args, (y.tensor,), node.name))
        return True

    def _activation(self, node: Node) -> dict[str, object] | None:
        if node.op == _RELU:
            return {"activation": 1}
        if node.op not in CLAMPS:
            return None
        low, high = limits(self._library, node)
        if (low, high) == (0, inf):
            return {"activation": 1}
        return {"activation": 2, "act_min": low, "act_max": high}

    def _centre(self, x: Numbers) -> Tensor:
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
                self._append(_XOR, tensor.name, turned, a=tensor, b=middle)
                self._append(COPY, tensor.name, y, x=turned, dtype="i8")
            self._centred[tensor] = y
        return self._centred[tensor]
