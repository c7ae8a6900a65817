"""Fuses layers whose activations are quantized to int8 with scales computed in each run."""

from __future__ import annotations

from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.layers.quantization import CHOOSE_QPARAMS, DEQUANTIZE, QUANT_RANGES, QUANTIZE
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.rewrite import Matcher

# Weight-only layers, and the variant that also quantizes the activations to int8.
_DYNAMIC = {f"spirloom.linear_w{bits}": f"spirloom.linear_a8w{bits}" for bits in (4, 8)}
_KEPT = ("bias", "activation", "act_min", "act_max", "addend", "weight", "scales", "group")
_ABSENT = ("zeros", "offsets", "rms_weight")
_FLOATS = (DType.F32, DType.F16)


def fuse_dynamic_activations(graph: Graph, library: OpLibrary) -> None:
    """Fuses linear_w8(dequantize(quantize(x))) into linear_a8w8, also for int4 weights."""
    _Fuser(graph, library).run()


class _Fuser:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._matcher = Matcher(graph)
        self._readers = graph.uses()
        self._expanded: dict[Tensor, Tensor] = {}  # a scale or zero point → one per row

    def run(self) -> None:
        nodes: list[Node] = []
        for node in self._graph.nodes:
            absent = node.op in _DYNAMIC and all(self._arg(node, n) is None for n in _ABSENT)
            if absent:
                nodes += self._fused(node)
            nodes.append(node)
        self._graph.nodes = nodes

    def _arg(self, node: Node, name: str) -> object:
        return self._library.arg(node, name)

    def _fused(self, node: Node) -> list[Node]:
        """Fuses a layer, if possible. Returns the new nodes that it reads."""
        there = self._quantizer(self._arg(node, "x"))
        if there is None:
            return []
        x, scale, zero = (self._arg(there, name) for name in ("x", "scale", "zero_point"))
        if not all(isinstance(each, Tensor) for each in (x, scale, zero)):
            return []
        assert isinstance(x, Tensor) and isinstance(scale, Tensor) and isinstance(zero, Tensor)
        added: list[Node] = []
        if self._arg(there, "block_size") != (*[1] * (len(x.shape) - 1), x.shape[-1]):
            if not self._is_per_tensor(there, scale, zero):
                return []
            scale, zero = (self._per_row(t, there, added) for t in (scale, zero))
        if zero.dtype is not DType.I8 or x.dtype not in _FLOATS:
            return []
        given = {name: self._arg(node, name) for name in _KEPT}
        op = _DYNAMIC[node.op]
        try:
            args = self._library.complete(op, {**given, "x": x, "x_scale": scale, "x_zero": zero})
            self._library.infer(op, args)
        except OpError:  # unsupported group size: x is quantized by a separate node
            return added
        node.op, node.args = op, args
        return added

    def _quantizer(self, value: object) -> Node | None:
        """The node that quantizes a value to the codes -128…127 (or -127…127, if those of x)."""
        back = self._matcher.producer(value, DEQUANTIZE)
        there = self._matcher.producer(back.args[0], QUANTIZE) if back is not None else None
        if back is None or there is None or self._arg(there, "dtype") != "i8":
            return None
        same = all(self._arg(back, n) is self._arg(there, n) for n in ("scale", "zero_point"))
        if not same or self._arg(back, "block_size") != self._arg(there, "block_size"):
            return None
        ends = self._arg(there, "quant_min"), self._arg(there, "quant_max")
        # Of the codes with scales of the same x and range, only the maximum can be exceeded.
        own = ends == (-127, 127) and self._chooser(there) is not None
        return there if ends == QUANT_RANGES[DType.I8] or own else None

    def _chooser(self, there: Node) -> Node | None:
        """The node that chooses the scale and the zero point of a quantizer from the same x."""
        chooser = self._matcher.producer(self._arg(there, "scale"), CHOOSE_QPARAMS)
        alike = chooser is not None and all(
            self._arg(chooser, name) == self._arg(there, name)
            for name in ("x", "quant_min", "quant_max")
        )
        return chooser if alike else None

    def _is_per_tensor(self, there: Node, scale: Tensor, zero: Tensor) -> bool:
        """Whether x has one scale, and the zero point is int8 or becomes int8."""
        chooser = self._chooser(there)
        if chooser is None or scale.size != scale.dtype.numpy.itemsize:
            return False
        if chooser.outputs != (scale, zero) or self._arg(there, "block_size"):
            return False
        readers = self._readers.get(zero, [])
        inner = zero not in self._graph.results() and all(
            reader.op in (QUANTIZE, DEQUANTIZE) for reader in readers
        )
        if zero.dtype is not DType.I8 and inner:
            chooser.args = self._library.with_args(chooser, zero_dtype="i8")
            zero.dtype = DType.I8
        return zero.dtype is DType.I8

    def _per_row(self, value: Tensor, there: Node, added: list[Node]) -> Tensor:
        """One value per row of the quantized tensor."""
        if value not in self._expanded:
            shape = (*there.outputs[0].shape[:-1], 1)
            result = self._expanded[value] = Tensor(value.name, value.dtype, shape)
            args = self._library.complete("aten.expand", {"x": value, "size": shape})
            added.append(Node("aten.expand", args, (result,), there.name))
        return self._expanded[value]
