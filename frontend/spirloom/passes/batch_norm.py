"""Folds batch normalisation into the convolution or linear layer before it."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.rewrite import Matcher, fused, replace_nodes

BATCH_NORM = "aten._native_batch_norm_legit_no_training"


def fold_batch_norm(graph: Graph, library: OpLibrary) -> None:
    """y = s·(W x + b − mean) + beta becomes one layer; computed in float64, rounded once."""
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
        return None  # there the channels of the normalisation are not the last dimension
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
    """A parameter in float64; the default where it is absent, None where it is not constant."""
    if value is None:
        return np.full(channels, default)
    if isinstance(value, Tensor) and value.data is not None and value.shape == (channels,):
        return value.data.astype(np.float64)
    return None
