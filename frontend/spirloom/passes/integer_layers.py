"""Layers between dequantize and quantize compute with the numbers themselves."""

from __future__ import annotations

from math import inf, prod

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.integer_calls import CONVOLUTION, LAYERS, Calls
from spirloom.passes.integer_operands import QUANTIZE, Numbers, Operands
from spirloom.passes.integer_tensors import Centres
from spirloom.passes.rewrite import CLAMPS, Matcher, fused_name, limits

_RELU, _CAT = "aten.relu", "aten.cat"


def fuse_integers(graph: Graph, library: OpLibrary) -> None:
    """quantize(layer(dequantize(x))) becomes one call, as do sums and means; moves take numbers.

    A layer whose result is not quantised gives floats. uint8 becomes int8 less 128, which only the
    graph's inputs and outputs are changed for.
    """
    if library.has(CONVOLUTION):
        _Fusion(graph, library).run()


class _Fusion:
    """One pass over a graph: `_nodes` are those that take the place of its own."""

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph, self._library = graph, library
        self._matcher = Matcher(graph)
        self._operands = Operands(self._matcher, library)
        self._nodes: list[Node] = []
        self._centres = Centres(self._matcher, library, self._nodes)
        self._calls = Calls(self._operands, self._centres, library)

    def run(self) -> None:
        for node in self._graph.nodes:
            if not (self._quantised(node) if node.op == QUANTIZE else self._floats(node)):
                self._nodes.append(node)
            if self._centres.is_move(node):
                self._move_ahead(node)
        self._graph.nodes = self._nodes
        remove_dead_nodes(self._graph)

    def _quantised(self, node: Node) -> bool:
        """Puts a call in the place of a quantize and what makes its input."""
        y = self._operands.result(node)
        return y is not None and self._give(self._library.arg(node, "x"), y, [node])

    def _give(
        self,
        value: ArgValue,
        y: Numbers,
        parts: list[Node],
        finish: dict[str, object] | None = None,
        private: bool = True,
    ) -> bool:
        """Makes numbers y of what makes a value. `parts` are the nodes behind that, `finish` says
        what the activation among them is, and `private` whether these are read once."""
        made = self._matcher.producer(value)
        if made is None:
            return False
        if finish is None and self._moved(made, y):
            return True
        private = private and self._matcher.private(made.outputs[0])
        if private and self._centres.is_move(made):
            return self._moved_behind(made, y, parts, finish)
        ended = self._activation(made) if finish is None else None
        if ended is not None:
            return self._give(made.args[0], y, [made, *parts], ended, private)
        x = self._operands.operand(value)
        # A layer is not computed twice: all that follows it must be read once.
        of_layer = self._calls.of(made) if x is None and private else None
        found = of_layer if x is None else self._calls.rescaled(x)
        if found is None:
            return False
        op, args = found
        result = {"y_scale": y.scale, "y_zero": y.centred_zero}
        name = fused_name(made, *parts)
        return self._put(op, {**args, **result, **(finish or {})}, y.tensor, name)

    def _floats(self, node: Node) -> bool:
        """Puts a call that gives floats in the place of a layer whose result is not quantised."""
        if node.op not in LAYERS or self._is_quantised(node.outputs[0]):
            return False
        found = self._calls.layer(node)
        if found is None:
            return False
        op, args = found
        return self._put(op, {**args, "dtype": "f32"}, node.outputs[0], node.name)

    def _is_quantised(self, value: Tensor) -> bool:
        """Whether its one reader, behind moves and an activation, will be found as a quantize."""
        reader, finished = self._matcher.reader(value), False
        while reader is not None:
            if self._activation(reader) is not None and not finished:
                finished = True
            elif not self._centres.is_move(reader):
                break
            reader = self._matcher.reader(reader.outputs[0])
        return reader is not None and self._operands.result(reader) is not None

    def _put(self, op: str, args: dict[str, object], y: Tensor, name: str) -> bool:
        """Appends a call whose result is y; False if the operator does not take it."""
        try:
            values = self._library.complete(op, args)
            ((shape, dtype),) = self._library.infer(op, values)
        except OpError:  # a form that it does not have
            return False
        assert prod(shape) == prod(y.shape), f"{op} gives {shape} for {y}"
        made = y if (shape, dtype) == (y.shape, y.dtype) else Tensor(y.name, dtype, shape)
        self._nodes.append(Node(op, values, (made,), name))
        if shape != y.shape:  # a mean whose dims are gone
            flat = y if dtype is y.dtype else Tensor(y.name, dtype, y.shape)
            made = self._centres.append("aten.view", name, flat, x=made, size=y.shape)
        if made is not y:
            self._centres.wrap(made, y, name)
        return True

    def _moved(self, node: Node, y: Numbers) -> bool:
        """Moves numbers as a node moves what they stand for, if they do so before and after."""
        if self._centres.is_move(node):
            x = self._operands.operand(node.args[0])
            return x is not None and x.alike(y) and self._centres.move(node, x, y.tensor)
        values = node.args[0] if node.op == _CAT else ()
        assert isinstance(values, tuple)
        found = [self._operands.operand(value) for value in values]
        terms = tuple(x.tensor for x in found if x is not None and x.alike(y))
        if not terms or len(terms) != len(found):
            return False
        name = self._library.arg_names(node.op)[0]
        args = self._library.with_args(node, **{name: terms})
        if not self._library.takes(node.op, args):
            return False
        self._nodes.append(Node(node.op, args, (y.tensor,), node.name))
        return True

    def _move_ahead(self, node: Node) -> None:
        """Numbers are moved before they are dequantised: a layer may take what that gives."""
        x, value = self._operands.operand(node.args[0]), node.outputs[0]
        if x is not None:
            y = Tensor(value.name, x.tensor.dtype, value.shape)
            if self._centres.move(node, x, y):
                self._operands.stand_for(value, Numbers(y, x.scale, x.zero))

    def _moved_behind(
        self, node: Node, y: Numbers, parts: list[Node], finish: dict[str, object] | None
    ) -> bool:
        """Numbers are moved after they were quantised: what makes them may be a layer."""
        x = node.args[0]
        assert isinstance(x, Tensor)
        inner = Numbers(Tensor(y.tensor.name, y.tensor.dtype, x.shape), y.scale, y.zero)
        return self._give(x, inner, [node, *parts], finish) and self._centres.move(
            node, inner, y.tensor
        )

    def _activation(self, node: Node) -> dict[str, object] | None:
        if node.op == _RELU:
            return {"activation": 1}
        if node.op not in CLAMPS:
            return None
        low, high = limits(self._library, node)
        if (low, high) == (0, inf):
            return {"activation": 1}
        return {"activation": 2, "act_min": low, "act_max": high}
