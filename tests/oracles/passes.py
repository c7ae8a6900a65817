"""Random graphs, compared with the same graphs without optimization passes.

.venv/bin/python -m tests.oracles.passes --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import random

import numpy as np
from spirloom import graph_file, graph_reader
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor, constant
from spirloom.op_library import OpError
from spirloom.passes import finish, optimize

from tests.frontend import reference_run
from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_import import scratch
from tests.oracles.comparison import LIBRARY, check_close

UNARY = (
    "relu", "sigmoid", "tanh", "silu", "gelu", "hardswish", "abs", "neg", "exp", "square", "sqrt",
    "rsqrt", "erf", "hardsigmoid",
)  # fmt: skip
BINARY = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum")
REDUCTIONS = ("sum.dim_IntList", "mean.dim", "amax")


class Writer:
    """Adds random nodes to a graph."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.random = np.random.default_rng(choose.getrandbits(32))
        self.graph = Graph()
        self.build = Builder(LIBRARY, self.graph)
        self.values: list[Tensor] = []
        for i in range(choose.randint(1, 2)):
            shape = tuple(choose.choice((2, 3, 4, 8)) for _ in range(choose.randint(2, 4)))
            tensor = Tensor(f"x{i}", DType.F32, shape)
            self.graph.inputs.append(tensor)
            self.values.append(tensor)

    def floats(self, *shape: int) -> Tensor:
        values = np.round(self.random.normal(0, 1, shape) * 32) / 32
        return constant("c", values.astype(np.float32))

    def some(self) -> Tensor:
        """A value, more often a late one."""
        return self.values[max(self.choose.choices(range(len(self.values)), k=2))]

    def add(self) -> None:
        self.build.name = f"n{len(self.graph.nodes)}"
        kind = self.choose.choice(
            (self.unary, self.binary, self.scalar, self.linear, self.shape, self.reduction,
             self.normalization, self.softmax, self.cast, self.slices, self.decomposed)
        )  # fmt: skip
        self.values.append(kind())

    def unary(self) -> Tensor:
        name, x = self.choose.choice(UNARY), self.some()
        if name in ("sqrt", "rsqrt"):
            x = self.build.emit("aten.abs", x=x)
            x = self.build.emit("aten.add.Tensor", a=x, b=self.floats(1))
            x = self.build.emit("aten.maximum", a=x, b=constant("c", np.array([0.5], np.float32)))
        if name in ("exp", "square"):
            x = self.build.emit("aten.tanh", x=x)
        return self.build.emit(f"aten.{name}", x=x)

    def binary(self) -> Tensor:
        name, a = self.choose.choice(BINARY), self.some()
        alike = [t for t in self.values if t.shape == a.shape]
        shape = [1 if self.choose.random() < 0.4 else n for n in a.shape]
        constants = [self.floats(*shape), self.floats(*a.shape[-1:])]
        b = self.choose.choice([*alike, *constants])
        if name.startswith("div"):
            b = self.build.emit("aten.exp", x=self.build.emit("aten.tanh", x=b))
        pair = (a, b) if self.choose.random() < 0.7 else (b, a)
        return self.build.emit(f"aten.{name}", a=pair[0], b=pair[1])

    def scalar(self) -> Tensor:
        value = np.array(self.choose.choice((0.5, 1, 2, -3, 0.044715)), np.float32)
        shape = self.choose.choice(((), (1,)))
        name = self.choose.choice(BINARY[:3])
        return self.build.emit(f"aten.{name}", a=self.some(), b=constant("c", value.reshape(shape)))

    def linear(self) -> Tensor:
        x = self.some()
        depth, features = x.shape[-1], self.choose.choice((3, 4, 8))
        if self.choose.random() < 0.5:
            bias = self.floats(features) if self.choose.random() < 0.5 else None
            weight = self.floats(features, depth)
            return self.build.emit("aten.linear", x=x, weight=weight, bias=bias)
        return self.build.emit("aten.matmul", a=x, b=self.floats(depth, features))

    def shape(self) -> Tensor:
        x = self.some()
        rank = len(x.shape)
        if self.choose.random() < 0.5:
            return self.build.emit(
                "aten.permute", x=x, dims=tuple(self.choose.sample(range(rank), rank))
            )
        at = self.choose.randrange(rank - 1) if rank > 1 else 0
        merged = (*x.shape[:at], int(np.prod(x.shape[at : at + 2])), *x.shape[at + 2 :])
        split = (
            (*x.shape[:-1], 2, x.shape[-1] // 2) if x.shape[-1] % 2 == 0 and rank < 4 else merged
        )
        return self.build.view(x, self.choose.choice((merged, split)))

    def reduction(self) -> Tensor:
        x = self.some()
        dims = [self.choose.randrange(len(x.shape))]
        return self.build.reduce(f"aten.{self.choose.choice(REDUCTIONS)}", x, dims, True)

    def normalization(self) -> Tensor:
        """A decomposed layer norm or RMS norm."""
        x, dim = self.some(), [-1]
        mean = self.build.reduce("aten.mean.dim", x, [len(x.shape) - 1], True)
        centered = self.build.emit("aten.sub.Tensor", a=x, b=mean)
        x = centered if self.choose.random() < 0.5 else x
        squares = self.build.emit("aten.mul.Tensor", a=x, b=x)
        mean = self.build.reduce("aten.mean.dim", squares, [len(x.shape) + dim[0]], True)
        eps = constant("eps", np.array(0.01, np.float32))
        root = self.build.emit("aten.rsqrt", x=self.build.emit("aten.add.Tensor", a=mean, b=eps))
        y = self.build.emit("aten.mul.Tensor", a=x, b=root)
        return self.build.emit("aten.mul.Tensor", a=y, b=self.floats(x.shape[-1]))

    def softmax(self) -> Tensor:
        x = self.some()
        dim = self.choose.randrange(len(x.shape))
        return self.build.emit("aten._softmax", x=x, dim=dim)

    def cast(self) -> Tensor:
        dtype, x = self.choose.choice(("f32", "f16", "i32")), self.some()
        if dtype == "i32":  # saturated values, 1 or a bit less, are not near the next integer
            x = self.build.emit("aten.add.Tensor", a=x, b=constant("c", np.array(0.3, np.float32)))
        x = self.build.emit("aten._to_copy", x=x, dtype=dtype)
        return self.build.emit("aten._to_copy", x=x, dtype="f32")

    def slices(self) -> Tensor:
        x = self.some()
        dim = self.choose.randrange(len(x.shape))
        if x.shape[dim] < 2 or self.choose.random() < 0.3:
            return self.build.emit("aten.cat", tensors=(x, x), dim=dim)
        return self.build.slice(x, dim, 0, x.shape[dim] - 1)

    def decomposed(self) -> Tensor:
        """An activation of several operators."""
        x = self.some()
        if self.choose.random() < 0.5:
            return self.build.emit("aten.mul.Tensor", a=x, b=self.build.emit("aten.sigmoid", x=x))
        half = constant("half", np.array(0.5, np.float32))
        root = constant("root", np.array(2**-0.5, np.float32))
        erf = self.build.emit("aten.erf", x=self.build.emit("aten.mul.Tensor", a=x, b=root))
        one = constant("one", np.array(1, np.float32))
        y = self.build.emit(
            "aten.mul.Tensor", a=x, b=self.build.emit("aten.add.Tensor", a=erf, b=one)
        )
        return self.build.emit("aten.mul.Tensor", a=y, b=half)


def make(choose: random.Random) -> dict[str, bytes]:
    """A graph file of up to 14 random nodes, without optimization."""
    writer = Writer(choose)
    for _ in range(choose.randint(3, 14)):
        try:
            writer.add()
        except OpError:  # not computed by any operator, such as a rank that is too large
            continue
    graph = writer.graph
    used: set[Tensor] = set()
    for node in graph.nodes:
        used.update(node.inputs())
    graph.outputs = [t for node in graph.nodes for t in node.outputs if t not in used][-3:]
    if not graph.outputs:
        graph.outputs = [writer.build.emit("aten.relu", x=graph.inputs[0])]
    finish(graph, LIBRARY)
    return {"graph.slg": graph_file.to_bytes(graph)}


def run(files: dict[str, bytes]) -> bool:
    """Raises if the optimized graph has other results."""
    path = scratch() / "graph.slg"
    path.write_bytes(files["graph.slg"])
    graph = graph_reader.load(path)
    generator = np.random.default_rng(len(files["graph.slg"]))
    inputs = {
        t.name: (np.round(generator.normal(0, 1, t.shape) * 32) / 32).astype(np.float32)
        for t in graph.inputs
    }
    expected = reference_run.run(graph, inputs)
    optimized = graph_reader.load(path)
    optimize(optimized, LIBRARY)
    used = {t.name: inputs[t.name] for t in optimized.inputs}
    found = reference_run.run(optimized, used)
    names = [t.name for t in graph.outputs]
    check_close([found[n] for n in names], [expected[n] for n in names], 1e-3, 1e-4)
    return len(optimized.nodes) < len(graph.nodes)


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
