"""Layers and tables of weights that are dequantised become operators that take the numbers."""

from __future__ import annotations

from typing import cast

import numpy as np

from spirloom.ir import Array, DType, Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import Matcher
from spirloom.weight_numbers import Numbers, Rounded, numbers_of, of_table

LINEAR, EMBEDDING, DEQUANTIZE = "aten.linear", "aten.embedding", "spirloom.dequantize"
GATED = "spirloom.gated_linear"
QUANTIZE = "spirloom.quantize"
_FLOATS = (DType.F32, DType.F16)
# Layers of rounded weights that take what aten.linear does.
LAYERS_OF_ROUNDED = tuple(
    f"spirloom.linear_{kind}" for kind in ("bf16", "q4", "q8", "dq8_q4", "dq8_q8")
)
# By layers with such weights, those of which x is rounded to int8, too.
_DYNAMIC = {f"spirloom.linear_q{bits}": f"spirloom.linear_dq8_q{bits}" for bits in (4, 8)}
_PLAIN = ("x", "bias", "activation", "act_min", "act_max", "addend")
_KEPT = (*_PLAIN, "weight", "scales", "group")
_LAYER = (*_PLAIN, "norm", "norm_eps")
# What layers are called with rounded weights, before the kind of these, and which arguments they
# have beside these.
_LAYERS = {
    LINEAR: ("spirloom.linear_", _LAYER),
    GATED: ("spirloom.gated_linear_", tuple(name for name in _LAYER if name != "addend")),
}


def fuse_quantised(graph: Graph, library: OpLibrary) -> None:
    """linear(x, dequantize(w)) becomes one call, and so do embeddings."""
    matcher = Matcher(graph)
    places = {LINEAR: "weight", EMBEDDING: "x"}
    for node in graph.nodes:
        if node.op not in places:
            continue
        weight = library.arg(node, places[node.op])
        numbers = _numbers(library, matcher, weight)
        if numbers is None or node.outputs[0].dtype not in _FLOATS:
            continue
        if numbers.zeros is not None and node.op == EMBEDDING:
            continue
        assert isinstance(weight, Tensor)
        put_rounded(library, node, numbers, weight.name)
    for node in graph.nodes:
        plain = node.op in _DYNAMIC and all(
            library.arg(node, name) is None for name in ("zeros", "offsets", "norm")
        )
        if plain:
            _take_rounded_rows(library, matcher, node)
    remove_dead_nodes(graph)


def _take_rounded_rows(library: OpLibrary, matcher: Matcher, node: Node) -> None:
    """A layer of dequantize(quantize(x)), with scales of x's rows, becomes one of x."""
    back = matcher.producer(library.arg(node, "x"), DEQUANTIZE)
    there = matcher.producer(back.args[0], QUANTIZE) if back is not None else None
    if back is None or there is None:
        return
    x, scale, zero = (library.arg(there, name) for name in ("x", "scale", "zero_point"))
    if not isinstance(x, Tensor) or not isinstance(scale, Tensor) or not isinstance(zero, Tensor):
        return
    ends = tuple(library.arg(there, name) for name in ("quant_min", "quant_max", "dtype"))
    if ends != (-128, 127, "i8") or zero.dtype is not DType.I8 or x.dtype not in _FLOATS:
        return
    same = all(library.arg(back, name) is library.arg(there, name)
               for name in ("scale", "zero_point"))  # fmt: skip
    blocks = [library.arg(each, "block_size") for each in (there, back)]
    if not same or any(b != (*[1] * (len(x.shape) - 1), x.shape[-1]) for b in blocks):
        return
    given = {name: library.arg(node, name) for name in _KEPT if name != "x"}
    op = _DYNAMIC[node.op]
    try:
        args = library.complete(op, {**given, "x": x, "x_scale": scale, "x_zero": zero})
        library.infer(op, args)
    except OpError:  # groups that it does not take: x stays rounded by a node
        return
    node.op, node.args = op, args


def put_rounded(library: OpLibrary, node: Node, rounded: Rounded, name: str) -> None:
    """Makes a layer or an embedding one of this weight."""
    given = rounded.arguments(name)
    if node.op in _LAYERS:
        op, kept = _LAYERS[node.op]
        args = {**{arg: library.arg(node, arg) for arg in kept}, **given}
        node.op = f"{op}{rounded.kind}"
    else:
        args = {**of_table(given, node.outputs[0].dtype), "index": library.arg(node, "index")}
        node.op = f"spirloom.embedding_{rounded.kind}"
    node.args = library.complete(node.op, args)


def _numbers(library: OpLibrary, matcher: Matcher, weight: object) -> Numbers | None:
    """Those that a weight is made of, if it is: [rows, depth]."""
    turned = False
    while (permute := matcher.producer(weight, "aten.permute")) is not None:
        turned ^= library.arg(permute, "dims") in ((1, 0), (-1, -2))
        weight = permute.args[0]
    made = matcher.producer(weight, DEQUANTIZE)
    if made is None:
        return None
    given = [library.arg(made, name) for name in ("x", "scale", "zero_point")]
    arrays = [value.data for value in given if isinstance(value, Tensor)]
    if len(arrays) != 3 or any(array is None for array in arrays):
        return None
    values, scale, zero = cast("list[Array]", arrays)
    if values.ndim != 2 or values.dtype not in (np.int8, np.uint8):
        return None
    counts = _counts(library, made, values.shape, scale)
    scale, zero = scale.reshape(counts), zero.reshape(counts)
    if turned:
        values, scale, zero = values.T, scale.T, zero.T
    return numbers_of(values, scale, zero)


def _counts(
    library: OpLibrary, node: Node, shape: tuple[int, ...], scale: Array
) -> tuple[int, int]:
    """How many blocks of rows and of columns have scales of their own."""
    blocks = cast("tuple[int, ...]", library.arg(node, "block_size"))
    if scale.size == 1:
        return 1, 1
    if blocks:
        return shape[0] // blocks[0], shape[1] // blocks[1]
    if scale.ndim == 2:
        return scale.shape[0], scale.shape[1]
    axis = cast(int, library.arg(node, "axis")) % 2
    return (scale.size, 1) if axis == 0 else (1, scale.size)
