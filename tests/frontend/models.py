"""Small ONNX models, built in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper
from spirloom.builder import Builder
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import finish, optimize

from codegen.select.select import Selectors, select
from tests.frontend import reference_run

Shape = Sequence[int | str | None]


def node(op: str, inputs: str, outputs: str = "y", **attributes: object) -> NodeProto:
    """A node. Names are separated by spaces; `-` is an absent input."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(op, names, outputs.split(), name=f"{op}_{outputs}", **attributes)


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Shape],
    constants: Mapping[str, Array] | None = None,
    outputs: Sequence[str] = ("y",),
    opset: int = 13,
    dtype: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    """A model whose inputs have one element type."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(n, dtype, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(name, dtype, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def imported(
    made: onnx.ModelProto,
    library: OpLibrary,
    folder: Path,
    shapes: Shapes | None = None,
    optimized: bool = True,
    fp16: bool = False,
) -> Graph:
    """The graph of a model, as `spirloom import` writes it."""
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    graph = import_model(path, library, shapes or Shapes())
    if optimized:
        optimize(graph, library, fp16=fp16)
    else:
        finish(graph, library, fp16=fp16)
    return graph


# Emits the calls of a graph of one input, and returns the result.
Make = Callable[[Builder, Tensor], Tensor]


def graph_of(library: OpLibrary, make: Make, *shape: int) -> Graph:
    """A graph of the calls that `make` emits, from a float32 input x of a shape to y."""
    graph = Graph([Tensor("x", DType.F32, shape)])
    build = Builder(library, graph)
    build.name = "node"
    graph.outputs = [make(build, graph.inputs[0])]
    graph.outputs[0].name = "y"
    return graph


def compute(graph: Graph, *inputs: Array) -> Array:
    """The first output, computed by the operators' references."""
    named = dict(zip((t.name for t in graph.inputs), inputs, strict=True))
    return reference_run.run(graph, named)[graph.outputs[0].name]


def ops(graph: Graph) -> list[str]:
    """The operators of a graph, in order."""
    return [n.op for n in graph.nodes]


def random(*shape: int, seed: int = 0) -> Array:
    """float32 values from a normal distribution."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def named_ops(graph: Graph) -> set[str]:
    """The ops of a library selected by the names of a graph's ops."""
    return set(select(reference_run.LIBRARY, Selectors(ops=tuple(ops(graph)))).variants)
