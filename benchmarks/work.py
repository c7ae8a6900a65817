"""The work of an operator call: multiply-adds, and bytes of compulsory memory traffic."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.op_library import OpLibrary

# GEMM and GEMV operators → their first operand.
_MATMULS = {"aten.mm": "a", "aten.bmm": "a", "aten.matmul": "a", "aten.addmm": "a",
            "aten.baddbmm": "a", "aten.linear": "x", "spirloom.linear_bf16": "x",
            "spirloom.linear_w4": "x", "spirloom.linear_w8": "x", "spirloom.linear_a8w4": "x",
            "spirloom.linear_a8w8": "x", "spirloom.linear_i8": "x"}  # fmt: skip
VECTOR_BYTES = 16  # of a vec4 of fp32
_CONVOLUTIONS = ("aten.convolution", "aten.conv1d", "aten.conv3d", "spirloom.convolution_i8")


def multiply_adds(node: Node, args: Mapping[str, ArgValue]) -> int:
    """The multiply-adds of the operator's definition, independent of the algorithm; 0 for operators
    that are not counted in multiply-adds."""

    def shape(name: str) -> tuple[int, ...]:
        tensor = args[name]
        assert isinstance(tensor, Tensor)
        return tensor.shape

    results = prod(node.outputs[0].shape)
    if node.op in _MATMULS:
        return results * shape(_MATMULS[node.op])[-1]
    if node.op == "spirloom.winograd_gemm":
        return results * shape("weight")[1]
    if node.op == "spirloom.convolution_i8" and args["transposed"]:
        filters, *window = shape("weight")
        return prod(shape("x")) * filters // _int(args["groups"]) * prod(window[1:])
    if node.op == "spirloom.convolution_k_slices":
        return results // _int(args["slices"]) * prod(shape("weight")[1:])
    if node.op == "spirloom.linear_k_slices":
        return results // _int(args["slices"]) * shape("weight")[1]
    if node.op in _CONVOLUTIONS:
        return results * prod(shape("weight")[1:])
    if node.op.startswith("aten.conv_transpose"):
        return prod(shape("x")) * prod(shape("weight")[1:])
    if node.op == "aten.scaled_dot_product_attention":
        rows = prod(shape("query")[:-1])
        return rows * shape("key")[-2] * (shape("query")[-1] + shape("value")[-1])
    if node.op == "spirloom.strided_attention":
        sizes = ("batches", "heads", "queries", "keys")
        return prod(_int(args[n]) for n in sizes) * (_int(args["depth"]) + _int(args["width"]))
    if node.op == "bench.multiply_add":
        return results * 8 * _int(args["rounds"])
    if node.op.startswith("spirloom.") and node.op.endswith("_layer"):  # recurrent: every step
        steps, batch, _ = shape("x")
        return steps * batch * prod(shape("weight"))
    return 0


def graph_multiply_adds(graph: Graph, library: OpLibrary) -> int:
    """The multiply-adds of all nodes."""
    return sum(
        multiply_adds(node, dict(zip(library.arg_names(node.op), node.args, strict=True)))
        for node in graph.nodes
    )


def moved_bytes(node: Node, args: Mapping[str, ArgValue]) -> int:
    """The size of all operands and results, each counted once, which is a lower bound of the memory
    traffic. The load probe counts each load."""
    if node.op == "bench.load":
        return _int(args["count"]) * _int(args["rounds"]) * VECTOR_BYTES
    tensors = dict.fromkeys((*node.inputs(), *node.outputs))
    return sum(tensor.size for tensor in tensors)


def _int(value: ArgValue) -> int:
    assert isinstance(value, int)
    return value
