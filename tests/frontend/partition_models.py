"""ONNX models with unsupported nodes in the middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from spirloom.ir import Array
from spirloom.onnx.dtypes import onnx_type

from tests.frontend.models import node, random

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


@dataclass(frozen=True)
class Case:
    """A model, its inputs, and the operators that run on the host."""

    nodes: Sequence[NodeProto]
    inputs: Mapping[str, Array]
    stays: str
    constants: Mapping[str, Array] = field(default_factory=dict)
    outputs: Mapping[str, int] = field(default_factory=lambda: {"y": FLOAT})
    stay: Sequence[str] = ()

    def model(self) -> ModelProto:
        """Its ONNX model, of opset 17."""
        infos = [
            helper.make_tensor_value_info(n, onnx_type(a.dtype), a.shape)
            for n, a in self.inputs.items()
        ]
        graph = helper.make_graph(
            list(self.nodes),
            "parts",
            infos,
            [helper.make_tensor_value_info(n, kind, None) for n, kind in self.outputs.items()],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


IMAGE = {"x": random(1, 3, 24, 24, seed=7)}
WEIGHTS = {"w": random(16, 3, 3, 3), "w2": random(16, 16, 3, 3, seed=1)}
ROWS = {"x": random(40, 32, seed=5)}
SQUARE = {"w": random(32, 32), "w2": random(32, 32, seed=1)}


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def conv(x: str, w: str, y: str) -> NodeProto:
    return node("Conv", f"{x} {w}", y, pads=[1, 1, 1, 1])


def branch(name: str, op: str, reads: str) -> onnx.GraphProto:
    """A branch of an If that reads values of the enclosing graph."""
    result = helper.make_tensor_value_info(f"{name}_y", FLOAT, None)
    return helper.make_graph([node(op, reads, f"{name}_y")], name, [], [result])


def counting_body() -> onnx.GraphProto:
    """v = v + a, with a of the enclosing graph. Continues the loop."""
    infos = [("i", INT64, []), ("go", BOOL, []), ("v", FLOAT, [40, 32])]
    nodes = [node("Identity", "go", "goes"), node("Add", "v a", "more")]
    return helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(*info) for info in infos],
        [helper.make_tensor_value_info("goes", BOOL, []),
         helper.make_tensor_value_info("more", FLOAT, [40, 32])],
    )  # fmt: skip


NON_ZERO = Case(
    [conv("x", "w", "c"), node("Relu", "c", "r"), node("NonZero", "r", "n"),
     node("Transpose", "n", "t", perm=[1, 0]), node("GatherND", "r t", "g"),
     node("ReduceMean", "g", "m", keepdims=0), conv("r", "w2", "d"), node("Mul", "d m", "y")],
    IMAGE, "GatherND NonZero ReduceMean Transpose", WEIGHTS,
)  # fmt: skip
SUPPRESSION = Case(
    [node("MatMul", "x w", "h"), node("Slice", "h zero four one", "corners"),
     node("Abs", "corners", "a"), node("Slice", "h four five one", "s"),
     node("Unsqueeze", "a zero", "boxes"), node("Transpose", "s", "st", perm=[1, 0]),
     node("Unsqueeze", "st zero", "scores"),
     node("NonMaxSuppression", "boxes scores n overlap minimum", "selected", center_point_box=1),
     node("Gather", "selected two", "indices", axis=1), node("Gather", "h indices", "kept"),
     node("ReduceSum", "kept zero", "total", keepdims=0), node("Add", "h total", "z"),
     node("MatMul", "z w2", "y")],
    ROWS, "Gather NonMaxSuppression ReduceSum",
    SQUARE | {"zero": ints(0), "four": ints(4), "five": ints(5), "one": ints(1),
              "two": np.array(2, np.int64), "n": ints(9),
              "overlap": np.array([0.4], np.float32), "minimum": np.array([-9.0], np.float32)},
)  # fmt: skip
BY_DATA = Case(
    [node("MatMul", "x w", "h"), node("ReduceMax", "h", "score", axes=[1], keepdims=0),
     node("ReduceMean", "score", "middle", keepdims=1), node("Greater", "score middle", "over"),
     node("Cast", "over", "one", to=INT64), node("ReduceSum", "one", "count", keepdims=1),
     node("TopK", "score count", "best indices"), node("Gather", "h indices", "rows"),
     node("ReduceMean", "rows", "mean", axes=[0], keepdims=1), node("Sub", "h mean", "z"),
     node("MatMul", "z w2", "y")],
    ROWS, "Gather ReduceMean TopK", SQUARE, {"y": FLOAT, "indices": INT64},
)  # fmt: skip
INDICES = Case(
    [node("MatMul", "x w", "h"), node("ArgMax", "h", "i", axis=1, keepdims=0),
     node("Gather", "table i", "t"), node("MatMul", "t w2", "z"), node("Greater", "z h", "g"),
     node("Where", "g z h", "v"), node("MatMul", "v w", "y")],
    ROWS, "ArgMax Greater", SQUARE | {"table": random(32, 32, seed=3)},
    {"y": FLOAT, "i": INT64, "g": BOOL}, stay=("ArgMax", "Greater"),
)  # fmt: skip
BRANCH = Case(
    [node("MatMul", "x w", "h"), node("ReduceSum", "h", "s", keepdims=0),
     node("Greater", "s limit", "over"),
     node("If", "over", "b", then_branch=branch("then", "Add", "h x"),
          else_branch=branch("else", "Mul", "h k")),
     node("MatMul", "b w2", "y")],
    ROWS, "If", SQUARE | {"limit": np.array(1e9, np.float32), "k": random(32, seed=9)},
)  # fmt: skip
LOOP = Case(
    [node("MatMul", "x w", "a"), node("ReduceMax", "a", "top", keepdims=0),
     node("Cast", "top", "count", to=INT64),
     node("Loop", "count yes a", "l", body=counting_body()), node("MatMul", "l w2", "y")],
    ROWS, "Cast Loop MatMul", SQUARE | {"yes": np.array(True)},
)  # fmt: skip
SEQUENCE = Case(
    [node("MatMul", "x w", "h"), node("SplitToSequence", "h ten", "s", axis=0),
     node("ReduceMax", "x", "m", keepdims=0), node("Cast", "m", "index", to=INT64),
     node("SequenceAt", "s index", "part"), node("MatMul", "part w2", "y")],
    ROWS, "Cast SequenceAt SplitToSequence", SQUARE | {"ten": np.array(10, np.int64)},
)  # fmt: skip
UNIQUE = Case(
    [node("Gather", "table ids", "e"), node("MatMul", "e w", "h"), node("Relu", "h", "y"),
     node("Unique", "ids", "u first back n", axis=0), node("Gather", "u back", "again")],
    {"ids": ints(3, 1, 3, 0, 7, 1)}, "Gather Unique", SQUARE | {"table": random(9, 32)},
    {"y": FLOAT, "again": INT64, "n": INT64},
)  # fmt: skip
LARGE = Case(
    [node("MatMul", "x w", "h"), node("MatMul", "h large", "l"), node("MatMul", "l wide", "y")],
    ROWS, "MatMul", SQUARE | {"large": random(32, 600), "wide": random(600, 32)},
    stay=("MatMul_l",),
)  # fmt: skip
PASSED_ON = Case(
    [node("Shape", "x", "shape"), node("Relu", "x", "r"), node("NonZero", "r", "n"),
     node("Identity", "x", "same")],
    ROWS, "NonZero", {}, {"n": INT64, "shape": INT64, "r": FLOAT, "same": FLOAT},
)  # fmt: skip

CASES = {
    "non_zero": NON_ZERO, "non_max_suppression": SUPPRESSION,
    "top_k_of_data": BY_DATA, "indices": INDICES, "branch": BRANCH, "loop": LOOP,
    "sequence": SEQUENCE, "unique": UNIQUE, "large": LARGE, "passed_on": PASSED_ON,
}  # fmt: skip
