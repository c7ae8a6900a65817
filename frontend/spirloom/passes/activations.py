"""Fuses activations and biases into the operator that makes their input."""

from __future__ import annotations

from math import inf

from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.quantised import LAYERS_OF_ROUNDED
from spirloom.passes.rewrite import Matcher, fused, limits, replace_nodes

_LINEAR = ("aten.linear", *LAYERS_OF_ROUNDED)
# The codes of templates/glsl/lib/activation.glsl.j2.
_RELU, _CLAMP = 1, 2
_CODES = {
    "aten.hardswish": 3,
    "aten.hardsigmoid": 4,
    "aten.sigmoid": 5,
    "aten.silu": 6,
    "aten.tanh": 7,
}


def fuse_activations(graph: Graph, library: OpLibrary) -> None:
    """relu(convolution(…)) becomes one call, and so for every op with an `activation`."""
    matcher = Matcher(graph)
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        activation = _activation(library, node)
        if activation is None:
            continue
        layer = matcher.inner(node.args[0])
        if layer is None or layer in replacements or not _takes(library, layer):
            continue
        code, low, high = activation
        args = library.with_args(layer, activation=code, act_min=low, act_max=high)
        if not library.takes(layer.op, args):
            continue
        replacements |= {
            layer: fused(layer, node, args),
            node: None,
        }
    replace_nodes(graph, replacements)


def _takes(library: OpLibrary, layer: Node) -> bool:
    """Whether the op can apply an activation, and does not yet."""
    if not library.has_arg(layer.op, "activation") or library.arg(layer, "activation"):
        return False
    return layer.outputs[0].dtype in (DType.F32, DType.F16)


def _activation(library: OpLibrary, node: Node) -> tuple[int, float, float] | None:
    """The code and bounds of an activation; None for other nodes."""
    match node.op:
        case "aten.relu":
            return _RELU, 0.0, 0.0
        case "aten.clamp" | "aten.hardtanh":
            low, high = limits(library, node)
            return (_RELU, 0.0, 0.0) if (low, high) == (0, inf) else (_CLAMP, low, high)
        case "aten.leaky_relu":
            slope = library.arg(node, "negative_slope")
            assert isinstance(slope, float)
            return 8, slope, 0.0
        case "aten.gelu" if library.arg(node, "approximate") == "none":
            return 9, 0.0, 0.0
    code = _CODES.get(node.op)
    return None if code is None else (code, 0.0, 0.0)


def fuse_bias(graph: Graph, library: OpLibrary) -> None:
    """A constant added to each channel of a layer without bias becomes its bias."""
    matcher = Matcher(graph)
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        if node.op != "aten.add.Tensor" or library.arg(node, "alpha") != 1:
            continue
        for value, other in (node.args[:2], node.args[1::-1]):
            layer = matcher.inner(value, *_LINEAR, "aten.convolution")
            if layer is None or layer in replacements or library.arg(layer, "bias") is not None:
                continue
            if library.arg(layer, "activation") or layer.outputs[0].shape != node.outputs[0].shape:
                continue
            bias = _channel_bias(layer, other)
            if bias is None:
                continue
            changes = {n: library.arg(node, n) for n in ("activation", "act_min", "act_max")}
            args = library.with_args(layer, bias=bias, **changes)
            replacements |= {
                layer: fused(layer, node, args),
                node: None,
            }
            break
    replace_nodes(graph, replacements)


def _channel_bias(layer: Node, value: object) -> Tensor | None:
    """The constant as a vector, if it varies along the layer's output channels only."""
    if not isinstance(value, Tensor) or value.data is None:
        return None
    shape = layer.outputs[0].shape
    axis = len(shape) - 1 if layer.op in _LINEAR else 1
    padded = (1,) * (len(shape) - len(value.shape)) + value.shape
    channels = shape[axis]
    if any(d != (channels if i == axis else 1) for i, d in enumerate(padded)):
        return None
    return constant(value.name, value.data.reshape(channels))
