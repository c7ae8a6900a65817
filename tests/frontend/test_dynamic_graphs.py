"""Graphs with symbolic sizes compute the same as graphs of each fixed size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize, optimize_sizes
from spirloom.sizes import SizeExpr, Symbol, Varying
from spirloom.symbolic.open_graph import open_graph
from spirloom.symbolic.specialize import specialize

from codegen.select.select import Selectors, select
from tests.frontend import dynamic_models, models, reference_run
from tests.frontend.models import node

BATCH, SEQ, HEIGHT = Symbol("batch", 1, 8), Symbol("seq", 1, 40), Symbol("height", 9, 30)


def fixed(path: Path, library: OpLibrary, sizes: Mapping[str, int]) -> Graph:
    """The graph at fixed sizes."""
    graph = import_model(path, library, Shapes(sizes))
    optimize(graph, library)
    return graph


def varying(path: Path, library: OpLibrary, symbols: Sequence[Symbol]) -> Graph:
    def plain(sizes: Mapping[str, int]) -> Graph:
        return import_model(path, library, Shapes(sizes))

    def optimized(graph: Graph) -> Graph:
        optimize(graph, library, sizes_vary=True)
        return graph

    return optimize_sizes(open_graph(plain, optimized, symbols, library), library)


def written(folder: Path, nodes: Sequence[object], **arguments: object) -> Path:
    """A small model as a file."""
    path = folder / "model.onnx"
    path.write_bytes(models.model(nodes, **arguments).SerializeToString())  # type: ignore[arg-type]
    return path


def agree(path: Path, library: OpLibrary, graph: Graph, sizes: Mapping[str, int]) -> None:
    """Compares the graph at these sizes with one imported for them."""
    expected, special = fixed(path, library, sizes), specialize(graph, sizes, library)
    random = np.random.default_rng(3)
    inputs: dict[str, Array] = {
        t.name: random.integers(0, 7, t.shape).astype(t.dtype.numpy) for t in expected.inputs
    }
    assert [t.shape for t in special.inputs] == [t.shape for t in expected.inputs]
    wanted, got = reference_run.run(expected, inputs), reference_run.run(special, inputs)
    assert wanted.keys() == got.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(got[name], value, err_msg=f"{name} at {sizes}")


def grid(symbols: Sequence[Symbol], *sizes: Sequence[int]) -> list[dict[str, int]]:
    names = [symbol.name for symbol in symbols]
    return [dict(zip(names, values, strict=True)) for values in product(*sizes)]


def test_language_model(library: OpLibrary, tmp_path: Path) -> None:
    """Batch and length through embeddings, a causal mask, attention and views."""
    path = dynamic_models.export_language(tmp_path / "language.onnx")
    graph = varying(path, library, [BATCH, SEQ])
    assert list(map(str, graph.inputs[0].shape)) == ["batch", "seq"]
    assert list(map(str, graph.outputs[0].shape)) == ["batch", "seq", "7"]
    for sizes in grid([BATCH, SEQ], (1, 2, 7, 8), (1, 2, 13, 40)):
        agree(path, library, graph, sizes)


def test_convolutional_model(library: OpLibrary, tmp_path: Path) -> None:
    path = dynamic_models.export_convolutional(tmp_path / "images.onnx")
    graph = varying(path, library, [BATCH, HEIGHT])
    for sizes in grid([BATCH, HEIGHT], range(1, 9), (9, 10, 16, 29, 30)):
        agree(path, library, graph, sizes)


def test_symbolic_sizes_are_stored(library: OpLibrary, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        [node("Shape", "x", "s"), node("Gather", "s zero", "n", axis=0),
         node("Mul", "n six", "m"), node("Unsqueeze", "m axis", "u"), node("Reshape", "x u")],
        inputs={"x": ["batch", 2, 3]},
        constants={"zero": np.array(0), "six": np.array(6), "axis": np.array([0])},
    )  # fmt: skip
    graph = varying(path, library, [BATCH])
    graph_file.save(graph, tmp_path / "model.slg")
    loaded = graph_reader.load(tmp_path / "model.slg")
    assert loaded.symbols == (BATCH,)
    assert list(map(str, loaded.inputs[0].shape)) == ["batch", "2", "3"]
    assert loaded.inputs[0].shape == (8, 2, 3)
    size = library.arg(loaded.nodes[0], "size")
    assert isinstance(size, tuple) and str(size[0]) == "6*batch" and size == (48,)
    assert graph_file.to_bytes(loaded) == graph_file.to_bytes(graph)
    for sizes in grid([BATCH], range(1, 9)):
        agree(path, library, loaded, sizes)


def test_constants_are_cut_to_size(library: OpLibrary, tmp_path: Path) -> None:
    table = models.random(40, 3)
    path = written(
        tmp_path,
        [node("Shape", "x", "s"), node("Gather", "s zero", "n", axis=0),
         node("Slice", "table start n", "part"), node("Add", "x part")],
        inputs={"x": ["seq", 3]},
        constants={"table": table, "zero": np.array([0]), "start": np.array([0])},
    )  # fmt: skip
    graph = varying(path, library, [SEQ])
    assert models.ops(graph) == ["aten.slice.Tensor", "aten.add.Tensor"]
    for sizes in grid([SEQ], (1, 2, 39, 40)):
        agree(path, library, graph, sizes)


def test_tensors_are_divided_by_sizes(library: OpLibrary, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        [node("Shape", "x", "s"), node("Gather", "s zero", "n", axis=0),
         node("Cast", "n", "f", to=1), node("Div", "x f")],
        inputs={"x": ["batch", 3]},
        constants={"zero": np.array(0)},
    )  # fmt: skip
    graph = varying(path, library, [BATCH])
    assert models.ops(graph) == ["aten.full", "aten.div.Tensor"]
    graph_file.save(graph, tmp_path / "model.slg")
    loaded = graph_reader.load(tmp_path / "model.slg")
    assert str(library.arg(loaded.nodes[0], "fill_value")) == "batch"
    assert graph_file.to_bytes(loaded) == graph_file.to_bytes(graph)
    for sizes in grid([BATCH], range(1, 9)):
        agree(path, library, loaded, sizes)


def test_different_graphs(library: OpLibrary, tmp_path: Path) -> None:
    """The number of parts depends on the size."""
    path = written(
        tmp_path,
        [node("SequenceEmpty", "", "none"), node("SplitToSequence", "x", "parts", axis=0),
         node("ConcatFromSequence", "parts", "y", axis=1)],
        inputs={"x": ["batch", 3]},
    )  # fmt: skip
    with pytest.raises(ImportFailure, match=r"cannot vary in size|has .* nodes"):
        varying(path, library, [BATCH])


def test_selections_serve_every_size(library: OpLibrary, tmp_path: Path) -> None:
    """A graph at any fixed size selects a subset of the variants of the symbolic one."""
    path = dynamic_models.export_language(tmp_path / "language.onnx")
    graph_file.save(varying(path, library, [BATCH, SEQ]), tmp_path / "varying.slg")
    kept = select(reference_run.LIBRARY, Selectors(models=(tmp_path / "varying.slg",)))
    for sizes in grid([BATCH, SEQ], (1, 5, 8), (1, 2, 7, 24, 40)):
        graph_file.save(fixed(path, library, sizes), tmp_path / "fixed.slg")
        needed = select(reference_run.LIBRARY, Selectors(models=(tmp_path / "fixed.slg",)))
        assert set(needed.variants) <= set(kept.variants), sizes


def test_symbolic_ints_have_their_maximum_value() -> None:
    value = Varying(16, SizeExpr(((2, ("batch",)),)))
    assert value == 16 and value + 1 == 17 and str(value) == "2*batch"


def sliced_to(divisor: int) -> list[NodeProto]:
    """The sum of the first n / divisor elements."""
    return [
        node("Shape", "x", "s"),
        node("Div", "s divisor", "m"),
        node("Slice", "x zero m", "part"),
        node("ReduceSum", "part", keepdims=0),
    ]


@pytest.mark.parametrize(
    ("divisor", "low", "high"), [(16, 32, 320), (16, 33, 320), (160, 800, 8000)]
)
def test_divisions(divisor: int, low: int, high: int, library: OpLibrary, tmp_path: Path) -> None:
    path = written(
        tmp_path, sliced_to(divisor), inputs={"x": ["n"]},
        constants={"divisor": np.array([divisor]), "zero": np.array([0])},
    )  # fmt: skip
    graph = varying(path, library, [Symbol("n", low, high)])
    for n in (low, low + 1, *range(high // 2, high // 2 + divisor + 1), high - 1, high):
        special = specialize(graph, {"n": n}, library)
        (part,) = special.nodes[-1].inputs()
        assert part.shape == (n // divisor,)


@pytest.mark.parametrize("minimum", [1, 2])
def test_formulas_that_change_below_the_small_sizes(
    minimum: int, library: OpLibrary, tmp_path: Path
) -> None:
    """x is padded to at least three rows."""
    path = written(
        tmp_path,
        [node("Shape", "x", "s"), node("Gather", "s zero", "n", axis=0),
         node("Sub", "three n", "d"), node("Max", "d zero", "m"),
         node("Concat", "zero zero m zero", "pads", axis=0), node("Pad", "x pads")],
        inputs={"x": ["n", 4]},
        constants={"zero": np.array([0]), "three": np.array([3])},
    )  # fmt: skip
    graph = varying(path, library, [Symbol("n", minimum, 64)])
    for n in (minimum, 2, 3, 4, 64):
        agree(path, library, graph, {"n": n})
