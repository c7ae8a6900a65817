"""Random ONNX models whose sizes are computed from two open dimensions, compared with ONNX Runtime
at every size of their ranges.

.venv-torch/bin/python -m tests.oracles.dynamic_sizes --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.passes import optimize, optimize_sizes
from spirloom.sizes import Symbol
from spirloom.symbolic.open_graph import open_graph
from spirloom.symbolic.specialize import specialize

from tests.frontend import reference_run
from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_import import scratch
from tests.oracles.comparison import LIBRARY, check_close

WIDTH = 3


# Operators of sizes, and further ways to compute one.
_SIZES = ("Add", "Sub", "Mul", "Div", "Div", "Min", "Max", "Mod", "scaled", "where", "product")


class Writer:
    """A model of x [n, 3] and y [m, 3]: integers that follow from n and m, and nodes whose shapes
    they determine. `value` has 3 columns.
    """

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.sizes = [self.size_of("x"), self.size_of("y")]
        self.value = "x"

    def emit(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, values: object, dtype: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(values)

    def size_of(self, name: str) -> str:
        """The number of rows of a value, by one of the ways in which exporters compute it."""
        shape = self.emit("Shape", name)
        way = self.choose.randrange(3)
        if way == 0:
            return self.emit("Slice", shape, self.ints(0), self.ints(1))
        if way == 1:
            scalar = self.emit("Gather", shape, self.constant(0), axis=0)
            return self.emit("Unsqueeze", scalar, self.ints(0))
        parts = [f"v{len(self.nodes)}", f"v{len(self.nodes)}_1"]
        self.nodes.append(helper.make_node("Split", [shape, self.ints(1, 1)], parts, axis=0))
        return parts[0]

    def add_size(self) -> None:
        """A further integer."""
        op = self.choose.choice(_SIZES)
        a, b = self.choose.choice(self.sizes), self.choose.choice(self.sizes)
        small = {"Mul": (1, 3), "Div": (2, 9), "Mod": (2, 5)}.get(op, (0, 12))
        number = self.ints(self.choose.randint(*small))
        if op == "scaled":
            factor = self.constant([self.choose.choice((0.5, 2.0, 1.5, 0.3, 0.75))], np.float32)
            scaled = self.emit("Mul", self.emit("Cast", a, to=TensorProto.FLOAT), factor)
            rounded = self.emit(self.choose.choice(("Floor", "Ceil")), scaled)
            self.sizes.append(self.emit("Cast", rounded, to=TensorProto.INT64))
        elif op == "where":
            compare = self.choose.choice(("Equal", "Less", "Greater"))
            self.sizes.append(self.emit("Where", self.emit(compare, a, number), number, b))
        elif op == "product":
            both = self.emit("Concat", a, self.ints(2), axis=0)
            self.sizes.append(self.emit("ReduceProd", both, keepdims=1))
        else:
            if op in ("Add", "Min", "Max", "Sub") and self.choose.random() < 0.4:
                number = b
            self.sizes.append(self.emit(op, a, number))

    def positive(self, most: int = 40) -> str:
        """A size from 1 to `most`."""
        size = self.choose.choice(self.sizes)
        if self.choose.random() < 0.5:
            return self.emit("Clip", size, self.constant(1), self.constant(most))
        return self.emit("Min", self.emit("Max", size, self.ints(1)), self.ints(most))

    def add_node(self) -> None:
        """A node with a size."""
        self.value = self.choose.choice(_NODES)(self)

    def first_row(self) -> str:
        return self.emit("ReduceSum", self.value, self.ints(0), keepdims=1)

    def column(self, values: str) -> str:
        """A vector of integers as a column of floats."""
        return self.emit("Unsqueeze", self.emit("Cast", values, to=TensorProto.FLOAT), self.ints(1))

    def branch(self, factor: float) -> onnx.GraphProto:
        constant = numpy_helper.from_array(np.array(factor, np.float32), f"f{factor}")
        name = f"b{len(self.nodes)}_{factor}"
        node = helper.make_node("Mul", [self.value, constant.name], [name])
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([node], "branch", [], [output], [constant])

    def model(self) -> onnx.ModelProto:
        self.emit("Mul", self.value, self.value)
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size, WIDTH])
                  for name, size in (("x", "n"), ("y", "m"))]  # fmt: skip
        output = helper.make_tensor_value_info(self.nodes[-1].output[0], TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "sizes", inputs, [output], self.constants)
        opset = helper.make_opsetid("", 18)
        return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def _slice(w: Writer) -> str:
    begin = w.ints(w.choose.choice((0, 0, 1, -2)))
    end = w.positive() if w.choose.random() < 0.7 else w.ints(1 << 40)
    return w.emit("Slice", w.value, begin, end)


def _pad(w: Writer) -> str:
    zero = w.ints(0)
    pads = w.emit("Concat", zero, zero, w.positive(7), zero, axis=0)
    return w.emit("Pad", w.value, pads)


def _expand(w: Writer) -> str:
    return w.emit("Expand", w.first_row(), w.emit("Concat", w.positive(), w.ints(WIDTH), axis=0))


def _tile(w: Writer) -> str:
    return w.emit("Tile", w.value, w.emit("Concat", w.positive(4), w.ints(1), axis=0))


def _reshape(w: Writer) -> str:
    flat = w.emit("Reshape", w.value, w.ints(-1))
    rows = w.choose.choice((w.ints(-1), w.ints(-1), w.size_of(w.value)))
    return w.emit("Reshape", flat, w.emit("Concat", rows, w.ints(WIDTH), axis=0))


def _range(w: Writer) -> str:
    zero, one = w.constant(0), w.constant(1)
    start = w.choose.choice((zero, one, w.emit("Squeeze", w.positive(9))))
    limit = w.emit("Add", start, w.emit("Squeeze", w.positive()))
    return w.emit("Add", w.column(w.emit("Range", start, limit, one)), w.first_row())


def _non_zero(w: Writer) -> str:
    one = helper.make_tensor("value", TensorProto.INT64, [1], [1])
    ones = w.emit("ConstantOfShape", w.positive(), value=one)
    steps = w.emit("Squeeze", w.emit("NonZero", ones), w.ints(0))
    return w.emit("Add", w.column(steps), w.first_row())


def _filled(w: Writer) -> str:
    half = helper.make_tensor("value", TensorProto.FLOAT, [1], [0.5])
    shape = w.emit("Concat", w.positive(), w.ints(WIDTH), axis=0)
    return w.emit("Mul", w.emit("ConstantOfShape", shape, value=half), w.first_row())


def _mask(w: Writer) -> str:
    rows = w.size_of(w.value)
    ones = w.emit("ConstantOfShape", w.emit("Concat", rows, rows, axis=0))
    biased = w.emit("Add", ones, w.constant(0.25, np.float32))
    return w.emit("MatMul", w.emit("Trilu", biased, upper=w.choose.randrange(2)), w.value)


def _mean(w: Writer) -> str:
    rows = w.emit("Cast", w.size_of(w.value), to=TensorProto.FLOAT)
    if w.choose.random() < 0.5:
        return w.emit("Add", w.value, w.emit("Div", w.first_row(), rows))
    return w.emit("Div", w.value, w.emit("Sqrt", rows))


def _reduced(w: Writer) -> str:
    mean = w.emit("ReduceMean", w.value, w.ints(0), keepdims=1)
    return w.emit("Add", w.value, mean)


def _resized(w: Writer) -> str:
    """Rows of an image are resized by a factor or to a size."""
    image = w.emit("Unsqueeze", w.value, w.ints(0, 1))
    mode, coordinates = w.choose.choice(
        (("nearest", "asymmetric"), ("nearest", "half_pixel"), ("linear", "half_pixel"),
         ("linear", "align_corners"), ("linear", "pytorch_half_pixel"))
    )  # fmt: skip
    options = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        options["nearest_mode"] = "floor" if coordinates == "asymmetric" else "round_prefer_floor"
    if w.choose.random() < 0.5:
        factor = w.choose.choice((2.0, 3.0, 1.0, 1.5))
        resized = w.emit("Resize", image, "", w.constant([1, 1, factor, 1], np.float32), **options)
    else:
        shape = w.emit("Concat", w.ints(1, 1), w.positive(), w.ints(WIDTH), axis=0)
        resized = w.emit("Resize", image, "", "", shape, **options)
    return w.emit("Squeeze", resized, w.ints(0, 1))


def _last(w: Writer) -> str:
    index = w.emit("Sub", w.size_of(w.value), w.ints(1))
    return w.emit("Add", w.value, w.emit("Gather", w.value, index, axis=0))


def _joined(w: Writer) -> str:
    return w.emit("Concat", w.value, w.choose.choice(("x", "y")), axis=0)


def _selected(w: Writer) -> str:
    compare = w.choose.choice(("Equal", "Less", "Greater"))
    condition = w.emit(compare, w.choose.choice(w.sizes), w.ints(w.choose.randint(0, 9)))
    if w.choose.random() < 0.5:
        return w.emit("Where", condition, w.value, w.emit("Neg", w.value))
    branches = {"then_branch": w.branch(2.0), "else_branch": w.branch(3.0)}
    return w.emit("If", w.emit("Squeeze", condition), **branches)


_NODES: Sequence[Callable[[Writer], str]] = (
    _slice, _slice, _pad, _expand, _tile, _reshape, _range, _non_zero, _filled, _mask, _mean,
    _reduced, _last, _joined, _selected, _resized,
)  # fmt: skip


def make(choose: random.Random) -> dict[str, bytes]:
    """A model, and the bounds of n and m."""
    writer = Writer(choose)
    for _ in range(choose.randint(1, 4)):
        writer.add_size()
    for _ in range(choose.randint(1, 3)):
        writer.add_node()
    lows = [choose.choice((0, 1, 1, 2, 5)) for _ in "nm"]
    bounds = [[lows[0], lows[0] + choose.randint(3, 12)], [lows[1], lows[1] + choose.randint(1, 3)]]
    return {
        "model.onnx": writer.model().SerializeToString(),
        "bounds.json": json.dumps(bounds).encode(),
    }


def run(files: dict[str, bytes]) -> bool:
    """Whether the model is imported. Raises if a size has another result."""
    bounds = json.loads(files["bounds.json"])
    path = scratch() / "model.onnx"
    path.write_bytes(files["model.onnx"])

    def plain(sizes: Mapping[str, int]) -> Graph:
        return import_model(path, LIBRARY, Shapes(dict(sizes)))

    def optimized(graph: Graph) -> Graph:
        optimize(graph, LIBRARY, sizes_vary=True)
        return graph

    try:
        symbols = [Symbol(name, *ends) for name, ends in zip("nm", bounds, strict=True)]
        graph = optimize_sizes(open_graph(plain, optimized, symbols, LIBRARY), LIBRARY)
    except ImportFailure:
        return False
    ranges = [range(symbol.min, symbol.max + 1) for symbol in graph.symbols]
    expected = _expected(files["model.onnx"], list(product(*ranges)))
    for (n, m), result in expected.items():
        special = specialize(graph, {"n": n, "m": m}, LIBRARY)
        (found,) = reference_run.run(special, {"x": _input(n), "y": _input(m)}).values()
        check_close([found], [result])
    return True


def _input(size: int) -> Array:
    return (np.arange(size * WIDTH, dtype=np.float32).reshape(size, WIDTH) % 7) / 4


def _expected(model: bytes, sizes: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], Array]:
    """The results of ONNX Runtime, without empty inputs that it refuses."""
    import onnxruntime as ort  # type: ignore[import]

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options)
    found: dict[tuple[int, ...], Array] = {}
    for n, m in sizes:
        try:
            (found[(n, m)],) = session.run(None, {"x": _input(n), "y": _input(m)})
        except Exception:  # the errors of ONNX Runtime have no common type
            if n and m:
                raise
    return found


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
