"""Quantizes weights (--quantize), and selects operators that read quantized weights."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import cast

import numpy as np

from spec_model.stored_float import float_format
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph, Node, Tensor
from spirloom.layers.quantization import DEQUANTIZE, constant_operands
from spirloom.op_library import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.dynamic_activations import fuse_dynamic_activations
from spirloom.passes.rewrite import COPY, Matcher
from spirloom.quantized_weights import (
    Float8Matrix,
    QuantizedMatrix,
    QuantizedWeight,
    bfloat16_matrix,
    embedding_arguments,
    from_codes,
    quantize_matrix,
)

LINEAR, EMBEDDING = "aten.linear", "aten.embedding"
GATED, SELECT = "spirloom.gated_linear", "aten.index_select"
_FLOATS = (DType.F32, DType.F16)
# Layers with quantized weights that have the other arguments of aten.linear.
QUANTIZED_LINEARS = tuple(
    f"spirloom.linear_{kind}" for kind in ("bf16", "f8", "w4", "w8", "a8w4", "a8w8")
)
_PLAIN = ("x", "bias", "activation", "act_min", "act_max", "addend")
_LAYER = (*_PLAIN, "rms_weight", "rms_eps")
# For each layer, the prefix of the operator with quantized weights, and the arguments that it
# keeps.
_LAYERS = {
    LINEAR: ("spirloom.linear_", _LAYER),
    GATED: ("spirloom.gated_linear_", tuple(name for name in _LAYER if name != "addend")),
}


def fuse_quantized(graph: Graph, library: OpLibrary) -> None:
    """Fuses linear(x, dequantize(w)) into one call, also for embeddings, and for selected rows of
    8-bit floats, which are an embedding."""
    matcher = Matcher(graph)
    weight_args = {LINEAR: "weight", EMBEDDING: "x", SELECT: "x"}
    for node in graph.nodes:
        if node.op not in weight_args or (node.op == SELECT and library.arg(node, "dim") != 0):
            continue
        weight = library.arg(node, weight_args[node.op])
        codes = None if node.op == SELECT else _matrix(library, matcher, weight)
        matrix = codes or _float8(library, matcher, weight)
        if matrix is None or node.outputs[0].dtype not in _FLOATS:
            continue
        has_zeros = isinstance(matrix, QuantizedMatrix) and matrix.zeros is not None
        if node.op == EMBEDDING and has_zeros:
            continue
        assert isinstance(weight, Tensor)
        use_quantized_weight(library, node, matrix, weight.name)
    fuse_dynamic_activations(graph, library)
    remove_dead_nodes(graph)


def use_quantized_weight(
    library: OpLibrary, node: Node, rounded: QuantizedWeight, name: str
) -> None:
    """Replaces the weight of a layer or an embedding with a quantized one."""
    given = rounded.arguments(name)
    if node.op in _LAYERS:
        op, kept = _LAYERS[node.op]
        args = {**{arg: library.arg(node, arg) for arg in kept}, **given}
        node.op = f"{op}{rounded.kind}"
    else:
        args = {
            **embedding_arguments(given, node.outputs[0].dtype),
            "index": library.arg(node, "index"),
        }
        node.op = f"spirloom.embedding_{rounded.kind}"
    node.args = library.complete(node.op, args)


def _matrix(library: OpLibrary, matcher: Matcher, weight: object) -> QuantizedMatrix | None:
    """The quantized matrix [rows, depth] that a weight is dequantized from, if there is one."""
    weight, transposed = _before_permutes(library, matcher, weight)
    made = matcher.producer(weight, DEQUANTIZE)
    operands = None if made is None else constant_operands(library, made)
    if made is None or operands is None or operands[0].ndim != 2:
        return None
    values, scale, zero = operands
    counts = _counts(library, made, values.shape, scale)
    scale, zero = scale.reshape(counts), zero.reshape(counts)
    if transposed:
        values, scale, zero = values.T, scale.T, zero.T
    return from_codes(values, scale, zero)


def _before_permutes(library: OpLibrary, matcher: Matcher, matrix: object) -> tuple[object, bool]:
    """The matrix before permutations, and whether they transpose it."""
    transposed = False
    while (permute := matcher.producer(matrix, "aten.permute")) is not None:
        transposed ^= library.arg(permute, "dims") in ((1, 0), (-1, -2))
        matrix = permute.args[0]
    return matrix, transposed


def _float8(library: OpLibrary, matcher: Matcher, weight: object) -> Float8Matrix | None:
    """The f8 matrix [rows, depth], times a scale per row, that a weight is converted from, if there
    is one."""
    weight, transposed = _before_permutes(library, matcher, weight)
    scale: Array = np.ones((1, 1), np.float32)
    scaled = matcher.producer(weight, "aten.mul.Tensor")
    if scaled is not None:
        weight, factor = scaled.args[:2]
        if isinstance(weight, Tensor) and weight.data is not None:
            weight, factor = factor, weight
        if not isinstance(factor, Tensor) or factor.data is None or factor.data.ndim > 2:
            return None
        scale = np.atleast_2d(factor.data)
    copied = matcher.producer(weight, COPY)
    stored = copied.args[0] if copied is not None else None
    if not isinstance(stored, Tensor) or stored.data is None or len(stored.shape) != 2:
        return None
    if float_format(stored.dtype) is None or stored.dtype is DType.BF16:
        return None
    values = stored.data.T if transposed else stored.data
    scale = scale.T if transposed else scale
    if scale.shape not in ((1, 1), (len(values), 1)):
        return None
    scales = np.broadcast_to(scale[:, 0], (len(values),))
    return Float8Matrix(np.ascontiguousarray(values), scales.astype(np.float32, order="C"))


def _counts(
    library: OpLibrary, node: Node, shape: tuple[int, ...], scale: Array
) -> tuple[int, int]:
    """The number of row blocks and of column blocks with separate scales."""
    blocks = cast("tuple[int, ...]", library.arg(node, "block_size"))
    if scale.size == 1:
        return 1, 1
    if blocks:
        return shape[0] // blocks[0], shape[1] // blocks[1]
    if scale.ndim == 2:
        return scale.shape[0], scale.shape[1]
    axis = cast(int, library.arg(node, "axis")) % 2
    return (scale.size, 1) if axis == 0 else (1, scale.size)


_WEIGHT_ARGS = {LINEAR: "weight", GATED: "weight", EMBEDDING: "x"}
_GROUPS = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class Quantization:
    """The --quantize option: bits per weight (16: bfloat16, for float32 layers), the group size (0:
    one scale per row), and name patterns of nodes to skip.
    """

    bits: int
    group: int
    skip: Collection[str] = ()

    @staticmethod
    def of(text: str, skip: Collection[str] = ()) -> Quantization:
        """Parses `int4:32`, `int8` or `bf16`. Raises ImportFailure."""
        if text == "bf16":
            return Quantization(16, 0, skip)
        kind, _, size = text.partition(":")
        grouped = kind in ("int4", "int8") and size in map(str, _GROUPS)
        if not grouped and text != "int8":
            groups = ", ".join(map(str, _GROUPS))
            raise ImportFailure(
                f"--quantize expects int4:GROUP or int8:GROUP with a GROUP of {groups}, int8 "
                f"(one scale per row), or bf16, not '{text}'."
            )
        return Quantization(int(kind[3:]), int(size or 0), skip)

    def check(self, fp16: bool) -> None:
        """Raises ImportFailure for bf16 in a graph that computes in fp16."""
        if fp16 and self.bits == 16:
            raise ImportFailure(
                "--quantize bf16 requires layers that compute in float32, because bfloat16 "
                "values may exceed the range of float16. Remove --fp16 or --quantize bf16."
            )

    def rounded(self, weight: Array) -> QuantizedWeight:
        """A float matrix, quantized to nearest."""
        if self.bits == 16:
            return bfloat16_matrix(weight)
        return quantize_matrix(weight, self.bits, self.group)

    def skips(self, name: str) -> bool:
        """Whether a node is excluded."""
        return any(fnmatchcase(name, pattern) for pattern in self.skip)

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether the rows of a matrix divide into groups."""
        rows, depth = shape
        return rows > 0 and depth > 0 and depth % (self.group or 1) == 0


def quantize_weights(graph: Graph, library: OpLibrary, how: Quantization) -> None:
    """Quantizes the constant weights of layers and embeddings to nearest, each weight once.

    Weights whose rows do not divide into groups are kept, and so are fp16 weights for bf16.
    """
    done: dict[Tensor, QuantizedWeight] = {}
    for node in graph.nodes:
        weight = _weight(library, node)
        if (
            weight is None
            or weight.data is None
            or how.skips(node.name)
            or not how.fits(weight.shape)
            or (how.bits == 16 and weight.dtype is not DType.F32)
        ):
            continue
        if weight not in done:
            done[weight] = how.rounded(weight.data)
        use_quantized_weight(library, node, done[weight], weight.name)


def keep_bfloat16(graph: Graph, library: OpLibrary) -> None:
    """Stores the bfloat16 weights of float32 layers and embeddings in bfloat16 again, which is
    exact. Importers convert all weights to float32, so that passes compute with them. Weights that
    a pass has changed stay float32."""
    done: dict[Tensor, QuantizedWeight | None] = {}
    for node in graph.nodes:
        weight = _weight(library, node)
        if weight is None or weight.data is None or weight.dtype is not DType.F32:
            continue
        if len(weight.shape) != 2:
            continue
        if weight not in done:
            exact = not np.any(np.ascontiguousarray(weight.data).view(np.uint32) & 0xFFFF)
            done[weight] = bfloat16_matrix(weight.data) if exact else None
        matrix = done[weight]
        if matrix is not None:
            use_quantized_weight(library, node, matrix, weight.name)


def _weight(library: OpLibrary, node: Node) -> Tensor | None:
    value = library.arg(node, _WEIGHT_ARGS[node.op]) if node.op in _WEIGHT_ARGS else None
    floats = isinstance(value, Tensor) and value.dtype in (DType.F32, DType.F16)
    return value if floats and isinstance(value, Tensor) else None
