"""Random ONNX models whose sizes are computed from an open dimension, compared with ONNX Runtime at
every size of its range.

.venv-torch/bin/python -m tests.oracles.dynamic_sizes --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.passes import optimize, optimize_sizes
from spirloom.sizes import Symbol
from spirloom.varying.open_graph import open_graph
from spirloom.varying.specialize import specialize

from tests.frontend import reference_run
from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_import import scratch
from tests.oracles.comparison import LIBRARY, check_close

WIDTH = 3


class Writer:
    """A model of x [n, 3]: integers that follow from n, and nodes whose shapes they determine."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        shape = self.emit("Shape", "x")
        self.sizes = [self.emit("Slice", shape, self.ints(0), self.ints(1))]
        self.value = "x"

    def emit(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def ints(self, *values: int) -> str:
        name = f"c{len(self.constants)}"
        array = np.array(values, np.int64)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add_size(self) -> None:
        """A further integer."""
        op = self.choose.choice(("Add", "Sub", "Mul", "Div", "Div", "Min", "Max", "Mod"))
        a = self.choose.choice(self.sizes)
        small = {"Mul": (1, 3), "Div": (2, 9), "Mod": (2, 5)}.get(op, (0, 12))
        b = self.ints(self.choose.randint(*small))
        if op in ("Add", "Min", "Max") and self.choose.random() < 0.3:
            b = self.choose.choice(self.sizes)
        self.sizes.append(self.emit(op, a, b))

    def add_node(self) -> None:
        """A node with a size."""
        size = self.choose.choice(self.sizes)
        positive = self.emit("Max", size, self.ints(1))
        width = self.emit("Concat", positive, self.ints(WIDTH), axis=0)
        kind = self.choose.choice(("slice", "pad", "expand", "reshape", "range", "mean"))
        if kind == "slice":
            begin = self.ints(self.choose.choice((0, 0, 1)))
            self.value = self.emit("Slice", self.value, begin, positive)
        elif kind == "pad":
            zero = self.ints(0)
            count = self.emit("Min", positive, self.ints(7))
            pads = self.emit("Concat", zero, zero, count, zero, axis=0)
            self.value = self.emit("Pad", self.value, pads)
        elif kind == "expand":
            row = self.emit("ReduceSum", self.value, self.ints(0), keepdims=1)
            self.value = self.emit("Expand", row, width)
        elif kind == "reshape":
            flat = self.emit("Reshape", self.value, self.ints(-1))
            self.value = self.emit("Reshape", flat, self.ints(-1, WIDTH))
        elif kind == "range":
            scalar = self.emit("Squeeze", positive)
            zero, one = self.scalar(0), self.scalar(1)
            steps = self.emit("Range", zero, scalar, one)
            column = self.emit("Unsqueeze", self.emit("Cast", steps, to=TensorProto.FLOAT),
                               self.ints(1))  # fmt: skip
            row = self.emit("ReduceSum", self.value, self.ints(0), keepdims=1)
            self.value = self.emit("Add", column, row)
        else:
            total = self.emit("ReduceMean", self.value, self.ints(0), keepdims=1)
            self.value = self.emit("Add", self.value, total)

    def scalar(self, value: int) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, np.int64), name))
        return name

    def model(self) -> onnx.ModelProto:
        self.emit("Mul", self.value, self.value)
        graph = helper.make_graph(
            self.nodes,
            "sizes",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])],
            [helper.make_tensor_value_info(self.nodes[-1].output[0], TensorProto.FLOAT, None)],
            self.constants,
        )
        opset = helper.make_opsetid("", 18)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def make(choose: random.Random) -> dict[str, bytes]:
    """A model, and the bounds of n."""
    writer = Writer(choose)
    for _ in range(choose.randint(1, 4)):
        writer.add_size()
    for _ in range(choose.randint(1, 3)):
        writer.add_node()
    low = choose.choice((1, 1, 2, 5))
    bounds = [low, low + choose.randint(3, 24)]
    return {
        "model.onnx": writer.model().SerializeToString(),
        "bounds.json": json.dumps(bounds).encode(),
    }


def run(files: dict[str, bytes]) -> bool:
    """Whether the model is imported. Raises if a size has another result."""
    low, high = json.loads(files["bounds.json"])
    path = scratch() / "model.onnx"
    path.write_bytes(files["model.onnx"])
    expected = _expected(files["model.onnx"], range(low, high + 1))

    def plain(sizes: Mapping[str, int]) -> Graph:
        return import_model(path, LIBRARY, Shapes(dict(sizes)))

    def optimized(graph: Graph) -> Graph:
        optimize(graph, LIBRARY, sizes_vary=True)
        return graph

    try:
        symbols = [Symbol("n", low, high)]
        graph = optimize_sizes(open_graph(plain, optimized, symbols, LIBRARY), LIBRARY)
    except ImportFailure:
        return False
    assert len(expected) == high + 1 - low, "ONNX Runtime refuses a size that the importer accepts"
    for size, result in expected.items():
        special = specialize(graph, {"n": size}, LIBRARY)
        (found,) = reference_run.run(special, {"x": _input(size)}).values()
        check_close([found], [result])
    return True


def _input(size: int) -> Array:
    return (np.arange(size * WIDTH, dtype=np.float32).reshape(size, WIDTH) % 7) / 4


def _expected(model: bytes, sizes: Sequence[int]) -> dict[int, Array]:
    """The results of the sizes that ONNX Runtime accepts."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    found: dict[int, Array] = {}
    try:
        session = ort.InferenceSession(model, options)
        for size in sizes:
            (found[size],) = session.run(None, {"x": _input(size)})
    except Exception:  # the errors of ONNX Runtime have no common type
        return found
    return found


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
