"""Replaces layers between dequantize and quantize with integer operators."""

from __future__ import annotations

from math import inf, prod

from spec_model.activations import Activation
from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.layers.quantization import QUANTIZE
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.integer_operands import Centres, Operands, QuantizedTensor
from spirloom.passes.rewrite import ADD, CLAMPS, Matcher, fused_name, limits

CONVOLUTION = "spirloom.convolution_i8"
Call = tuple[str, dict[str, object]]
# Layers whose weight and bias arguments have the same names in both operators.
LAYERS = {
    "aten.convolution": CONVOLUTION, "aten.conv1d": CONVOLUTION, "aten.conv3d": CONVOLUTION,
    "aten.conv_transpose1d": CONVOLUTION, "aten.conv_transpose2d.input": CONVOLUTION,
    "aten.conv_transpose3d.input": CONVOLUTION, "aten.linear": "spirloom.linear_i8",
}  # fmt: skip
_INPUTS = ("stride", "padding", "dilation", "output_padding", "groups")
_WINDOWS = ("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
_EVEN = ("aten.adaptive_avg_pool1d", "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d")
_MEAN = "aten.mean.dim"


def _ints(value: object) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return value


class Calls:
    """Finds the integer calls of layers, without the arguments that describe their results."""

    def __init__(self, operands: Operands, centers: Centres, library: OpLibrary) -> None:
        self._operands, self._centers, self._library = operands, centers, library

    def of(self, node: Node) -> Call | None:
        """The integer call that computes a node, if there is one."""
        if node.op in LAYERS:
            return self.layer(node)
        return self._sum(node) if node.op == ADD else self._mean(node)

    def rescaled(self, x: QuantizedTensor) -> Call:
        """Requantizes a tensor to another scale."""
        return "spirloom.rescale_i8", self._term("a", x)

    def layer(self, node: Node) -> Call | None:
        """A convolution or a linear layer."""
        names = self._library.arg_names(node.op)
        given = {name: self._library.arg(node, name) for name in names}
        transposed = "transpose" in node.op
        x = self._operands.operand(given["x"])
        groups = given.get("groups", 1) if transposed else None
        weight = self._operands.filters(given["weight"], groups)
        bias = given["bias"]
        known = self._operands.known(bias)
        if given.get("activation") or given.get("addend") or x is None or weight is None:
            return None
        if bias is not None and known is None:
            return None
        places: dict[str, object] = {name: given[name] for name in _INPUTS if name in given}
        if transposed:
            places["transposed"] = True
        args: dict[str, object] = {**self._term("x", x), **weight.arguments(), "bias": known}
        return LAYERS[node.op], {**args, **places}

    def _sum(self, node: Node) -> Call | None:
        if not self._library.is_plain(node):
            return None
        a, b = (self._operands.operand(value) for value in node.args[:2])
        if a is None or b is None or a.tensor.shape != b.tensor.shape:
            return None
        return "spirloom.add_i8", {**self._term("a", a), **self._term("b", b)}

    def _mean(self, node: Node) -> Call | None:
        """A mean over windows or over the last dimensions."""
        x = self._operands.operand(node.args[0]) if node.args else None
        window = self._window(node, x.tensor.shape) if x is not None else None
        if x is None or window is None:
            return None
        return "spirloom.average_pool_i8", {**self._term("x", x), **window}

    def _window(self, node: Node, shape: tuple[int, ...]) -> dict[str, object] | None:
        given = self._library.named_args(node)
        if node.op in _WINDOWS:
            return {name: value for name, value in given.items() if name != "x"}
        if node.op in _EVEN:
            out = _ints(given["output_size"])
            size = shape[len(shape) - len(out) :]
            if any(m < 1 or n % m for n, m in zip(size, out, strict=True)):
                return None
            window = tuple(n // m for n, m in zip(size, out, strict=True))
        elif node.op == _MEAN:
            found = sorted(d % len(shape) for d in _ints(given["dim"]))
            if not found or found != [*range(len(shape) - len(found), len(shape))]:
                return None
            window = shape[found[0] :]
        else:
            return None
        return {"kernel_size": window, "padding": (0,) * len(window)}

    def _term(self, name: str, x: QuantizedTensor) -> dict[str, object]:
        tensor: Tensor = self._centers.center(x)
        return {name: tensor, f"{name}_scale": x.scale, f"{name}_zero": x.centered_zero}


_RELU, _CAT = "aten.relu", "aten.cat"


def fuse_integers(graph: Graph, library: OpLibrary) -> None:
    """Fuses quantize(layer(dequantize(x))) into one integer call, also for additions and means.
    Data movement runs on int8 values.

    A layer whose result is not quantized returns floats. uint8 tensors become int8 (minus 128).
    Only graph inputs and outputs are converted.
    """
    if library.has(CONVOLUTION):
        _Fusion(graph, library).run()


class _Fusion:
    """One pass over a graph. `_nodes` are the nodes that replace the graph's nodes."""

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph, self._library = graph, library
        self._matcher = Matcher(graph)
        self._operands = Operands(self._matcher, library)
        self._nodes: list[Node] = []
        self._centers = Centres(self._matcher, library, self._nodes)
        self._calls = Calls(self._operands, self._centers, library)

    def run(self) -> None:
        for node in self._graph.nodes:
            if not (self._quantized(node) if node.op == QUANTIZE else self._floats(node)):
                self._nodes.append(node)
            if self._centers.is_move(node):
                self._move_ahead(node)
        self._graph.nodes = self._nodes
        remove_dead_nodes(self._graph)

    def _quantized(self, node: Node) -> bool:
        """Replaces a quantize and the producer of its input with one call."""
        y = self._operands.result(node)
        return y is not None and self._produce(self._library.arg(node, "x"), y, [node])

    def _produce(
        self,
        value: ArgValue,
        y: QuantizedTensor,
        parts: list[Node],
        finish: dict[str, object] | None = None,
        private: bool = True,
    ) -> bool:
        """Produces the quantized tensor y from the producer of `value`. `parts` are the nodes after
        the producer, `finish` describes the activation among them, and `private` is whether
        they have a single reader.
        """
        made = self._matcher.producer(value)
        if made is None:
            return False
        if finish is None and self._moved(made, y):
            return True
        private = private and self._matcher.private(made.outputs[0])
        if private and self._centers.is_move(made):
            return self._moved_after(made, y, parts, finish)
        ended = self._activation(made) if finish is None else None
        if ended is not None:
            return self._produce(made.args[0], y, [made, *parts], ended, private)
        x = self._operands.operand(value)
        # A layer is not computed twice: every node after it must have a single reader.
        of_layer = self._calls.of(made) if x is None and private else None
        found = of_layer if x is None else self._calls.rescaled(x)
        if found is None:
            return False
        op, args = found
        result = {"y_scale": y.scale, "y_zero": y.centered_zero}
        name = fused_name(made, *parts)
        return self._use(op, {**args, **result, **(finish or {})}, y.tensor, name)

    def _floats(self, node: Node) -> bool:
        """Replaces a layer whose result is not quantized with a call that returns floats."""
        if node.op not in LAYERS or self._is_quantized(node.outputs[0]):
            return False
        found = self._calls.layer(node)
        if found is None:
            return False
        op, args = found
        return self._use(op, {**args, "dtype": "f32"}, node.outputs[0], node.name)

    def _is_quantized(self, value: Tensor) -> bool:
        """Whether the single reader, after data movement and an activation, is a quantize."""
        reader, finished = self._matcher.reader(value), False
        while reader is not None:
            if self._activation(reader) is not None and not finished:
                finished = True
            elif not self._centers.is_move(reader):
                break
            reader = self._matcher.reader(reader.outputs[0])
        return reader is not None and self._operands.result(reader) is not None

    def _use(self, op: str, args: dict[str, object], y: Tensor, name: str) -> bool:
        """Appends a call with the result y. Returns False if the operator does not support it."""
        try:
            values = self._library.complete(op, args)
            ((shape, dtype),) = self._library.infer(op, values)
        except OpError:  # an unsupported variant
            return False
        assert prod(shape) == prod(y.shape), f"{op} returns {shape} for {y}"
        made = y if (shape, dtype) == (y.shape, y.dtype) else Tensor(y.name, dtype, shape)
        self._nodes.append(Node(op, values, (made,), name))
        if shape != y.shape:  # a mean with reduced dimensions removed
            flat = y if dtype is y.dtype else Tensor(y.name, dtype, y.shape)
            made = self._centers.append("aten.view", name, flat, x=made, size=y.shape)
        if made is not y:
            self._centers.wrap(made, y, name)
        return True

    def _moved(self, node: Node, y: QuantizedTensor) -> bool:
        """Moves int8 values as a node moves the floats, if it is quantized on both sides."""
        if self._centers.is_move(node):
            x = self._operands.operand(node.args[0])
            return x is not None and x.alike(y) and self._centers.move(node, x, y.tensor)
        values = node.args[0] if node.op == _CAT else ()
        assert isinstance(values, tuple)
        found = [self._operands.operand(value) for value in values]
        terms = tuple(x.tensor for x in found if x is not None and x.alike(y))
        if not terms or len(terms) != len(found):
            return False
        name = self._library.arg_names(node.op)[0]
        args = self._library.with_args(node, **{name: terms})
        if not self._library.supports(node.op, args):
            return False
        self._nodes.append(Node(node.op, args, (y.tensor,), node.name))
        return True

    def _move_ahead(self, node: Node) -> None:
        """Moves int8 values before they are dequantized, so that a layer can read the result."""
        x, value = self._operands.operand(node.args[0]), node.outputs[0]
        if x is not None:
            y = Tensor(value.name, x.tensor.dtype, value.shape)
            if self._centers.move(node, x, y):
                self._operands.stand_for(value, QuantizedTensor(y, x.scale, x.zero))

    def _moved_after(
        self, node: Node, y: QuantizedTensor, parts: list[Node], finish: dict[str, object] | None
    ) -> bool:
        """Moves values after they are quantized, so that their producer can be a layer."""
        x = node.args[0]
        assert isinstance(x, Tensor)
        inner = QuantizedTensor(Tensor(y.tensor.name, y.tensor.dtype, x.shape), y.scale, y.zero)
        return self._produce(x, inner, [node, *parts], finish) and self._centers.move(
            node, inner, y.tensor
        )

    def _activation(self, node: Node) -> dict[str, object] | None:
        if node.op == _RELU:
            return {"activation": Activation.RELU}
        if node.op not in CLAMPS:
            return None
        low, high = limits(self._library, node)
        if (low, high) == (0, inf):
            return {"activation": Activation.RELU}
        return {"activation": Activation.CLAMP, "act_min": low, "act_max": high}
