"""Fuses padding, batch normalization, biases, activations and residual additions into layers."""

from __future__ import annotations

from math import inf

import numpy as np

from spec_model.activations import ACTIVATION_OF_OP, Activation
from spirloom.ir import ArgValue, Array, DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import ADD, Matcher, fused, limits, replace_nodes
from spirloom.passes.weight_quantization import QUANTIZED_LINEARS

PAD, CONVOLUTION, AVERAGE = "aten.constant_pad_nd", "aten.convolution", "aten.avg_pool2d"


def absorb_padding(graph: Graph, library: OpLibrary) -> None:
    """Fuses pad → convolution into a convolution with padding, where both sides are padded
    equally.
    """
    matcher = Matcher(graph)
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        if node.op not in (CONVOLUTION, AVERAGE):
            continue
        pad = matcher.inner(library.arg(node, "x"), PAD)
        amounts = _zeros_around(library, pad) if pad is not None else None
        if pad is None or amounts is None or not _accepts_padding(library, node, amounts):
            continue
        old = library.arg(node, "padding")
        assert isinstance(old, tuple)
        padding = tuple(a + b for a, b in zip(old, amounts, strict=True) if isinstance(a, int))
        source = library.arg(pad, "x")
        args = library.with_args(node, x=source, padding=padding, count_include_pad=True)
        replacements |= {pad: None, node: Node(node.op, args, node.outputs, node.name)}
    replace_nodes(graph, replacements)


def _zeros_around(library: OpLibrary, pad: Node) -> tuple[int, int] | None:
    """The zero padding of height and width on each side. None for other padding."""
    amounts, source = library.arg(pad, "pad"), library.arg(pad, "x")
    if library.arg(pad, "value") != 0 or not isinstance(amounts, tuple):
        return None
    if not isinstance(source, Tensor) or len(source.shape) != 4 or len(amounts) > 4:
        return None
    values = [int(a) for a in amounts if isinstance(a, int)] + [0] * (4 - len(amounts))
    left, right, top, bottom = values
    return (top, left) if (top, left) == (bottom, right) and min(values) >= 0 else None


def _accepts_padding(library: OpLibrary, node: Node, amounts: tuple[int, int]) -> bool:
    """Whether the op can apply this padding. A pool must count it, and have no padding of its
    own.
    """
    if node.op == CONVOLUTION:
        return True
    kernel = library.arg(node, "kernel_size")
    assert isinstance(kernel, tuple)
    fits = all(2 * a <= k for a, k in zip(amounts, kernel, strict=True) if isinstance(k, int))
    return fits and not library.arg(node, "ceil_mode") and library.arg(node, "padding") == (0, 0)


BATCH_NORM = "aten._native_batch_norm_legit_no_training"


def fold_batch_norm(graph: Graph, library: OpLibrary) -> None:
    """Folds y = s·(W x + b − mean) + beta into one layer. Computed in float64 and rounded once."""
    matcher = Matcher(graph)
    replacements: dict[Node, Node | None] = {}
    for norm in graph.nodes:
        if norm.op != BATCH_NORM:
            continue
        layer = matcher.inner(library.arg(norm, "x"), "aten.convolution", "aten.linear")
        folded = _folded(library, layer, norm) if layer is not None else None
        if layer is not None and folded is not None:
            replacements |= {layer: folded, norm: None}
    replace_nodes(graph, replacements)


def _folded(library: OpLibrary, layer: Node, norm: Node) -> Node | None:
    weight, bias = library.arg(layer, "weight"), library.arg(layer, "bias")
    if not isinstance(weight, Tensor) or weight.data is None:
        return None
    data: Array = weight.data
    if library.has_arg(layer.op, "activation") and library.arg(layer, "activation"):
        return None
    if layer.op == "aten.linear" and len(layer.outputs[0].shape) != 2:
        return None  # the normalized channels are not the last dimension
    channels = weight.shape[0]
    scale = _vector(library.arg(norm, "weight"), channels, 1.0)
    shift = _vector(library.arg(norm, "bias"), channels, 0.0)
    mean = _vector(library.arg(norm, "running_mean"), channels, 0.0)
    variance = _vector(library.arg(norm, "running_var"), channels, 1.0)
    old = _vector(bias, channels, 0.0)
    eps = library.arg(norm, "eps")
    if scale is None or shift is None or mean is None or variance is None or old is None:
        return None
    assert isinstance(eps, float)
    factor: Array = scale / np.sqrt(variance + eps)
    new_bias: Array = (old - mean) * factor + shift
    wide = data.astype(np.float64) * factor.reshape(-1, *[1] * (data.ndim - 1))
    dtype = weight.dtype.numpy
    args = library.with_args(
        layer,
        weight=constant(weight.name, wide.astype(dtype)),
        bias=constant(f"{weight.name}.bias", new_bias.astype(dtype)),
    )
    return fused(layer, norm, args)


def _vector(value: object, channels: int, default: float) -> Array | None:
    """A parameter in float64: the default if it is absent, None if it is not constant."""
    if value is None:
        return np.full(channels, default)
    if isinstance(value, Tensor) and value.data is not None and value.shape == (channels,):
        return value.data.astype(np.float64)
    return None


_LINEAR = ("aten.linear", *QUANTIZED_LINEARS)


def fuse_activations(graph: Graph, library: OpLibrary) -> None:
    """Fuses relu(convolution(…)) into one call, for every op with an `activation` argument."""
    matcher = Matcher(graph)
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        activation = _activation(library, node)
        if activation is None:
            continue
        layer = matcher.inner(node.args[0])
        if layer is None or layer in replacements or not _accepts_activation(library, layer):
            continue
        code, low, high = activation
        args = library.with_args(layer, activation=code, act_min=low, act_max=high)
        if not library.supports(layer.op, args):
            continue
        replacements |= {
            layer: fused(layer, node, args),
            node: None,
        }
    replace_nodes(graph, replacements)


def _accepts_activation(library: OpLibrary, layer: Node) -> bool:
    """Whether the op supports an activation and the call has none."""
    if not library.has_arg(layer.op, "activation") or library.arg(layer, "activation"):
        return False
    return layer.outputs[0].dtype in (DType.F32, DType.F16)


def _activation(library: OpLibrary, node: Node) -> tuple[int, float, float] | None:
    """The code and bounds of an activation. None for other nodes."""
    match node.op:
        case "aten.clamp" | "aten.hardtanh":
            low, high = limits(library, node)
            return (
                (Activation.RELU, 0.0, 0.0)
                if (low, high) == (0, inf)
                else (Activation.CLAMP, low, high)
            )
        case "aten.leaky_relu":
            slope = library.arg(node, "negative_slope")
            assert isinstance(slope, float)
            return Activation.LEAKY_RELU, slope, 0.0
        case "aten.gelu" if library.arg(node, "approximate") == "none":
            return Activation.GELU, 0.0, 0.0
    code = ACTIVATION_OF_OP.get(node.op)
    return None if code is None else (code, 0.0, 0.0)


def fuse_bias(graph: Graph, library: OpLibrary) -> None:
    """Turns a constant that is added to each channel of a layer without bias into its bias."""
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
    """The constant as a vector, if it varies only along the layer's output channels."""
    if not isinstance(value, Tensor) or value.data is None:
        return None
    shape = layer.outputs[0].shape
    axis = len(shape) - 1 if layer.op in _LINEAR else 1
    padded = (1,) * (len(shape) - len(value.shape)) + value.shape
    channels = shape[axis]
    if any(d != (channels if i == axis else 1) for i, d in enumerate(padded)):
        return None
    return constant(value.name, value.data.reshape(channels))


# arguments of the result's activation, common to an add and a layer
_FINISH = ("activation", "act_min", "act_max")
_VIEW = "aten.view"


def fuse_residuals(graph: Graph, library: OpLibrary) -> None:
    """Fuses add(convolution(…), x) of equal shapes into one call, for every op with an `addend`
    argument.

    The call runs where the addition was, after both operands are available. An addition to a view
    of a layer's result becomes a view of the fused addition.
    """
    _move_views_after_sums(graph, library)
    matcher = Matcher(graph)
    order = {node: number for number, node in enumerate(graph.nodes)}
    replacements: dict[Node, Node | None] = {}
    for node in graph.nodes:
        if node.op != ADD or library.arg(node, "alpha") != 1:
            continue
        found = [
            (order[layer], layer, other)
            for value, other in (node.args[:2], node.args[1::-1])
            if (layer := matcher.inner(value)) is not None
            and layer not in replacements
            and _accepts_residual(library, layer, node, other)
        ]
        if not found:
            continue
        _, layer, other = max(found, key=lambda each: each[0])
        changes = {name: library.arg(node, name) for name in _FINISH}
        args = library.with_args(layer, addend=other, **changes)
        replacements |= {
            layer: None,
            node: fused(layer, node, args),
        }
    replace_nodes(graph, replacements)


def _move_views_after_sums(graph: Graph, library: OpLibrary) -> None:
    """Rewrites add(view(layer), x) to view(add(layer, view(x))), where the layer can absorb the
    addition.
    """
    if not library.has(_VIEW):
        return
    matcher = Matcher(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes += (_viewed_sum(library, matcher, node) if node.op == ADD else None) or [node]
    graph.nodes = nodes
    remove_dead_nodes(graph)


def _viewed_sum(library: OpLibrary, matcher: Matcher, add: Node) -> list[Node] | None:
    """The view of the other operand, the addition, and the view of its result."""
    total = add.outputs[0]
    for value, other in (add.args[:2], add.args[1::-1]):
        view = matcher.inner(value, _VIEW)
        layer = matcher.inner(view.args[0]) if view is not None else None
        if layer is None or not isinstance(other, Tensor) or other.shape != total.shape:
            continue
        result = layer.outputs[0]
        if result.size != total.size or not _accepts_addend(library, layer):
            continue
        summand, inner = (
            Tensor(f"{total.name}.{part}", total.dtype, result.shape)
            for part in ("addend", "layer")
        )
        operands = {"x": other, "size": result.shape}
        operands_after = {"x": inner, "size": total.shape}
        args = library.with_args(add, a=result, b=summand)
        return [
            Node(_VIEW, library.complete(_VIEW, operands), (summand,), add.name),
            Node(ADD, args, (inner,), add.name),
            Node(_VIEW, library.complete(_VIEW, operands_after), (total,), add.name),
        ]
    return None


def _accepts_residual(library: OpLibrary, layer: Node, add: Node, other: ArgValue) -> bool:
    """Whether the op can apply the addition to its result."""
    if not _accepts_addend(library, layer):
        return False
    result, total = layer.outputs[0], add.outputs[0]
    if library.arg(layer, "activation") or result.dtype not in (DType.F32, DType.F16):
        return False
    return isinstance(other, Tensor) and other.shape == result.shape == total.shape


def _accepts_addend(library: OpLibrary, layer: Node) -> bool:
    """Whether the op has an addend argument and the call has none."""
    return library.has_arg(layer.op, "addend") and library.arg(layer, "addend") is None


def split_residual(library: OpLibrary, node: Node) -> list[Node]:
    """The layer and the addition that a node with an addend stands for. Otherwise the node
    itself.
    """
    if not library.has_arg(node.op, "addend") or library.arg(node, "addend") is None:
        return [node]
    total = node.outputs[0]
    part = Tensor(f"{total.name}.layer", total.dtype, total.shape)
    finish = {name: library.arg(node, name) for name in _FINISH}
    plain = {"activation": 0, "act_min": 0.0, "act_max": 0.0}
    layer = Node(node.op, library.with_args(node, addend=None, **plain), (part,), node.name)
    operands = {"a": part, "b": library.arg(node, "addend"), **finish}
    return [layer, Node(ADD, library.complete(ADD, operands), (total,), f"{node.name}.add")]
