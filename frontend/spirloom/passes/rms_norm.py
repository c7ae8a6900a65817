"""Recognises root mean square normalisation spelled out, as models and exporters do."""

from __future__ import annotations

import numpy as np

from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.layer_norm import absorb
from spirloom.passes.mean_square import normalized
from spirloom.passes.polynomial import MUL
from spirloom.passes.rewrite import COPY, Matcher, fused_name

RMS_NORM = "aten.rms_norm"
_LARGEST = np.finfo(np.float16).max


def fuse_rms_norm(graph: Graph, library: OpLibrary) -> None:
    """x / √(mean(x²) + eps), then · weight where it is there; in half models without the casts."""
    if not library.has(RMS_NORM):
        return
    matcher = Matcher(graph)
    for node in graph.nodes:
        found = normalized(library, matcher, node)
        if found is not None:
            args = {"x": found.x, "normalized_shape": found.sizes, "eps": found.eps}
            node.op, node.args = RMS_NORM, library.complete(RMS_NORM, args)
            node.name = fused_name(found.first, node)
    absorb(graph, library, RMS_NORM, MUL, "weight")
    _narrow(graph, library)
    absorb(graph, library, RMS_NORM, MUL, "weight")
    remove_dead_nodes(graph)


def _narrow(graph: Graph, library: OpLibrary) -> None:
    """float16 → float32 → rms_norm → float16 becomes the float16 operator: it sums in float32."""
    matcher = Matcher(graph)
    for node in graph.nodes:
        norm = matcher.inner(node.args[0], RMS_NORM) if node.op == COPY else None
        x = _narrow_source(matcher, norm)
        if norm is None or x is None or not x.dtype is node.outputs[0].dtype is DType.F16:
            continue
        weight = library.arg(norm, "weight")
        if isinstance(weight, Tensor):
            if weight.data is None or np.abs(weight.data).max(initial=0) > _LARGEST:
                continue
            weight = constant(weight.name, weight.data.astype(np.float16))
        node.args = library.with_args(norm, x=x, weight=weight)
        node.op, node.name = RMS_NORM, norm.name


def _narrow_source(matcher: Matcher, norm: Node | None) -> Tensor | None:
    """What the input of a normalisation is a copy of."""
    copy = matcher.producer(norm.args[0], COPY) if norm is not None else None
    x = copy.args[0] if copy is not None else None
    return x if isinstance(x, Tensor) else None
