"""Chains of operators that only move elements are folded into one strided copy if possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
from onnx import ModelProto
from spirloom.ir import ArgValue, Array, DType, Graph, Node, Storage, Tensor
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize, optimize_sizes
from spirloom.passes.data_movement import fold_copies
from spirloom.passes.movement import Movement
from spirloom.sizes import Symbol
from spirloom.symbolic.open_graph import open_graph, settled
from spirloom.symbolic.specialize import specialize

from spec_model.spec.case import TensorCase
from spec_model.symbolic import Guards, general, sym
from tests.frontend import reference_run
from tests.frontend.models import compute, imported, model, named_ops, node, ops, random

COPY, VIEW, PERMUTE = "aten.as_strided", "aten.view", "aten.permute"
SLICE, SELECT, EXPAND, FLIP = "aten.slice.Tensor", "aten.select.int", "aten.expand", "aten.flip"
RELU = "aten.relu"

Step = tuple[str, Mapping[str, ArgValue]]
QUERIES: tuple[Step, ...] = (
    (SLICE, {"dim": 2, "start": 8, "end": 16}),
    (VIEW, {"size": (5, 2, 4)}),
    (PERMUTE, {"dims": (1, 0, 2)}),
)


def chain(library: OpLibrary, shape: tuple[int, ...], *steps: Step) -> Graph:
    """A graph of calls in which each reads the result of the previous one."""
    graph = Graph([Tensor("x", DType.F32, shape)])
    last = graph.inputs[0]
    for op, args in steps:
        last = read(graph, library, last, op, args)
    graph.outputs = [last]
    return graph


def read(
    graph: Graph, library: OpLibrary, x: Tensor, op: str, args: Mapping[str, ArgValue]
) -> Tensor:
    """The result of a further node."""
    given = library.complete(op, {"x": x, **args})
    ((shape, dtype),) = library.infer(op, given)
    made = Tensor(f"t{len(graph.nodes)}", dtype, shape)
    graph.nodes.append(Node(op, given, (made,), f"/{made.name}"))
    return made


def folds(library: OpLibrary, graph: Graph) -> list[str]:
    """The remaining ops. Results must be unchanged."""
    (x,) = graph.inputs
    inputs = {x.name: np.arange(prod(x.shape), dtype=np.float32).reshape(x.shape)}
    before = list(reference_run.run(graph, inputs).values())
    fold_copies(graph, library)
    after = list(reference_run.run(graph, inputs).values())
    for one, two in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, two)
    return ops(graph)


def test_heads_of_a_projection_are_one_copy(library: OpLibrary) -> None:
    graph = chain(library, (5, 1, 24), *QUERIES)
    assert folds(library, graph) == [COPY]
    assert graph.nodes[0].args[1:] == ((2, 5, 4), (4, 24, 1), 8)
    assert graph.nodes[0].name == "/t0 + t1 + t2"


def test_values_with_two_readers_are_kept(library: OpLibrary) -> None:
    graph = chain(library, (5, 1, 24), *QUERIES)
    part = graph.nodes[0].outputs[0]
    graph.outputs.append(read(graph, library, part, RELU, {}))
    assert folds(library, graph) == [SLICE, VIEW, PERMUTE, RELU]


def test_results_are_kept(library: OpLibrary) -> None:
    graph = chain(library, (5, 1, 24), *QUERIES)
    graph.outputs.append(graph.nodes[1].outputs[0])
    assert folds(library, graph) == [SLICE, VIEW, PERMUTE]


def test_one_copy_among_views_is_kept(library: OpLibrary) -> None:
    views: list[Step] = [
        (VIEW, {"size": (6, 4)}),
        (PERMUTE, {"dims": (1, 0)}),
        (VIEW, {"size": (24,)}),
    ]
    assert folds(library, chain(library, (2, 3, 4), *views)) == [VIEW, PERMUTE, VIEW]
    part: list[Step] = [(SLICE, {"dim": 0, "end": 1}), (PERMUTE, {"dims": (0, 2, 1)})]
    assert folds(library, chain(library, (2, 3, 4), *part)) == [SLICE, PERMUTE]


def test_parts_of_a_buffer_are_not_copied(library: OpLibrary) -> None:
    steps: list[Step] = [
        (SLICE, {"dim": 0, "start": 2, "end": 5}),
        (VIEW, {"size": (12,)}),
        (SLICE, {"dim": 0, "start": 1, "end": 9}),
    ]
    graph = chain(library, (6, 4), *steps)
    assert folds(library, graph) == [SLICE, VIEW, SLICE]


def test_unmergeable_dims_become_a_view(library: OpLibrary) -> None:
    steps: list[Step] = [
        (SLICE, {"dim": 2, "start": 1, "end": 3}),
        (PERMUTE, {"dims": (1, 0, 2)}),
        (VIEW, {"size": (3, 4)}),
        (SLICE, {"dim": 0, "start": 1, "end": 3}),
        (PERMUTE, {"dims": (1, 0)}),
    ]
    graph = chain(library, (2, 3, 4), *steps)
    assert folds(library, graph) == [COPY, VIEW]


def test_other_movements_are_kept(library: OpLibrary) -> None:
    steps: list[Step] = [
        (PERMUTE, {"dims": (1, 0)}),
        (VIEW, {"size": (12,)}),
        (SLICE, {"dim": 0, "start": 1, "step": 2}),
        (EXPAND, {"size": (2, 6)}),
    ]
    assert folds(library, chain(library, (3, 4), *steps)) == [PERMUTE, COPY]


def test_the_copy_reads_where_the_first_did(library: OpLibrary) -> None:
    graph = chain(library, (5, 1, 24), *QUERIES)
    between = read(graph, library, graph.inputs[0], RELU, {})
    graph.nodes = [graph.nodes[0], graph.nodes[3], *graph.nodes[1:3]]
    graph.outputs.append(between)
    assert folds(library, graph) == [COPY, RELU]


def test_storages_are_kept(library: OpLibrary) -> None:
    graph = chain(
        library,
        (2, 3, 4),
        (PERMUTE, {"dims": (1, 0, 2)}),
        (VIEW, {"size": (3, 8)}),
        (PERMUTE, {"dims": (1, 0)}),
        (VIEW, {"size": (24,)}),
        (SLICE, {"dim": 0, "step": 2}),
    )
    for tensor in graph.tensors():
        tensor.storage = Storage.TEXTURE3D
    folds(library, graph)
    assert all(tensor.storage is Storage.TEXTURE3D for tensor in graph.tensors())


def random_step(generator: np.random.Generator, shape: tuple[int, ...]) -> Step:
    """A random call that accepts a tensor of this shape."""
    rank = len(shape)
    dim = int(generator.integers(rank))
    size = shape[dim]
    kind = generator.choice([SLICE, SELECT, PERMUTE, VIEW, EXPAND, FLIP, "aten.unsqueeze"])
    if kind == SELECT and rank > 1:
        return SELECT, {"dim": dim, "index": int(generator.integers(size))}
    if kind == SLICE:
        start = int(generator.integers(size))
        end, step = int(generator.integers(start, size)) + 1, int(generator.integers(1, 3))
        return SLICE, {"dim": dim, "start": start, "end": end, "step": step}
    if kind == VIEW:
        return VIEW, {"size": split(generator, prod(shape))}
    if kind == EXPAND:
        return EXPAND, {"size": tuple(2 if n == 1 else n for n in shape)}
    if kind == FLIP:
        return FLIP, {"dims": (dim,)}
    if kind == "aten.unsqueeze" and rank < 5:
        return "aten.unsqueeze", {"dim": dim}
    return PERMUTE, {"dims": tuple(int(d) for d in generator.permutation(rank))}


def split(generator: np.random.Generator, count: int) -> tuple[int, ...]:
    """A shape with this number of elements."""
    shape: list[int] = []
    while count > 1 and len(shape) < 4:
        factors = [n for n in range(2, count + 1) if count % n == 0]
        shape.append(int(generator.choice(factors)))
        count //= shape[-1]
    return tuple([*shape, count] if count > 1 or not shape else shape)


def test_random_chains(library: OpLibrary) -> None:
    """Results are unchanged, whether chains fold or not. Most fold."""
    generator = np.random.default_rng(7)
    before = after = 0
    for _ in range(400):
        graph = chain(library, (4, 6, 8))
        for _ in range(generator.integers(2, 7)):
            step = random_step(generator, graph.outputs[0].shape)
            graph.outputs = [read(graph, library, graph.outputs[0], *step)]
        before += len(graph.nodes)
        after += len(folds(library, graph))
    assert after < 0.7 * before


SYMBOLS = (Symbol("n", 1, 5), Symbol("m", 2, 4))


def symbolic_step(generator: np.random.Generator, shape: tuple[int, ...]) -> Step:
    """A random call that accepts a tensor of this shape at all sizes."""
    rank = len(shape)
    dim = int(generator.integers(rank))
    kind = generator.choice([SLICE, SELECT, PERMUTE, PERMUTE, VIEW, VIEW, FLIP])
    if kind == SELECT and rank > 2:
        return SELECT, {"dim": dim, "index": 0}
    if kind == SLICE:
        end = shape[dim] - (type(shape[dim]) is int and shape[dim] > 2)
        return SLICE, {"dim": dim, "start": 0, "end": end}
    if kind == VIEW and dim + 1 < rank and generator.random() < 0.7:
        return VIEW, {"size": (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])}
    if kind == VIEW and type(shape[dim]) is int and shape[dim] % 2 == 0 and rank < 5:
        return VIEW, {"size": (*shape[:dim], 2, shape[dim] // 2, *shape[dim + 1 :])}
    if kind == FLIP:
        return FLIP, {"dims": (dim,)}
    return PERMUTE, {"dims": tuple(int(d) for d in generator.permutation(rank))}


def symbolic_chain(library: OpLibrary, seed: int) -> Graph:
    generator = np.random.default_rng(seed)
    n, m = map(sym, SYMBOLS)
    shapes = [(n, 4, m), (4, n, 6), (m, n, 8), (n * m, 6), (2, n + 1, m, 2)]
    with general(Guards()) as guards:
        graph = chain(library, shapes[int(generator.integers(len(shapes)))])
        for _ in range(generator.integers(2, 7)):
            step = symbolic_step(generator, graph.outputs[0].shape)
            graph.outputs = [read(graph, library, graph.outputs[0], *step)]
        settled(graph, library)
    assert not guards.assumed
    graph.symbols = SYMBOLS
    return graph


def test_random_chains_of_symbolic_sizes(library: OpLibrary) -> None:
    """Results are unchanged at all sizes, and most chains fold."""
    before = after = 0
    for seed in range(150):
        plain, graph = (symbolic_chain(library, seed) for _ in range(2))
        optimize_sizes(graph, library)
        before, after = before + len(plain.nodes), after + len(graph.nodes)
        if len(graph.nodes) == len(plain.nodes):
            continue
        for n, m in product((1, 2, 5), (2, 3, 4)):
            expected, found = (specialize(g, {"n": n, "m": m}, library) for g in (plain, graph))
            shape = expected.inputs[0].shape
            inputs = {"x": np.arange(prod(shape), dtype=np.float32).reshape(shape)}
            (one,), (two,) = (reference_run.run(g, inputs).values() for g in (expected, found))
            np.testing.assert_array_equal(two, one)
    assert after < 0.75 * before


def test_movements_of_operators(library: OpLibrary) -> None:
    """`split`, `source_strides` and `begin` of specs describe the movement of the references."""
    seen = set()
    for op in reference_run.OPS.values():
        for case in op.tests:
            x = next(iter(case.args.values()), None)
            if not isinstance(x, TensorCase) or case.shared or len(op.outputs) > 1:
                continue
            values = np.arange(prod(x.shape), dtype=np.float32).reshape(x.shape)
            args: dict[str, object] = {
                **case.args,
                op.args[0].name: Tensor("x", DType.F32, x.shape),
            }
            if any(isinstance(value, TensorCase) for value in args.values()):
                continue
            found = library.movement(op.name, library.complete(op.name, args))
            if found is None:
                continue
            split, steps, begin = found
            (expected,) = library.compute(op.name, {**args, op.args[0].name: values})
            offsets = np.full(split, begin)
            for dim, step in enumerate(steps):
                offsets += step * np.indices(split)[dim]
            np.testing.assert_array_equal(
                values.reshape(-1)[offsets.reshape(-1)], expected.reshape(-1)
            )
            seen.add(op.name)
    assert {SLICE, SELECT, PERMUTE, VIEW, EXPAND, FLIP, COPY} <= seen


def test_movements_join() -> None:
    transposed = Movement(((4, 1), (3, 4)), 0)  # the transpose of [3, 4]
    assert transposed.of(transposed) == Movement(((4, 4), (3, 1)), 0).of(Movement(((12, 1),), 0))
    assert Movement(((12, 1),), 0).of(transposed) == transposed
    assert Movement(((2, 3), (3, 1)), 3).of(transposed) == Movement(((2, 1), (3, 4)), 1)
    assert Movement(((11, 1),), 1).of(transposed) is None, "a run that begins within a row"
    assert Movement(((2, 0), (3, 1)), 0).of(transposed) == Movement(((2, 0), (3, 4)), 0)


def exported_attention() -> ModelProto:
    """Self-attention with two heads as PyTorch exports it, with a packed projection."""
    nodes = [node("MatMul", "x w", "p")]
    for i, name in enumerate("qkv"):
        transposed = [1, 2, 0] if name == "k" else [1, 0, 2]
        nodes += [
            node("Slice", f"p at{i} at{i + 1} last", f"{name}0"),
            node("Reshape", f"{name}0 parts", f"{name}1"),
            node("Transpose", f"{name}1", f"{name}2", perm=transposed),
        ]
    nodes += [
        node("MatMul", "q2 k2", "s0"),
        node("Mul", "s0 scale", "s1"),
        node("Softmax", "s1", "s2", axis=-1),
        node("MatMul", "s2 v2", "o0"),
        node("Transpose", "o0", "o1", perm=[1, 0, 2]),
        node("Reshape", "o1 whole"),
    ]
    constants: dict[str, Array] = {f"at{i}": np.array([24 * i]) for i in range(4)}
    constants |= {"w": random(24, 72), "scale": np.array(0.25, np.float32)}
    constants |= {"last": np.array([2]), "parts": np.array([0, -1, 12]), "whole": np.array([0, -1])}
    return model(nodes, {"x": ["seq", "batch", 24]}, constants, opset=13)


def test_attention_is_left_with_four_copies(library: OpLibrary, tmp_path: Path) -> None:
    """Without the pass that makes attention strided."""
    made, sizes = exported_attention(), Shapes({"seq": 7, "batch": 1})
    graph, plain = (imported(made, library, tmp_path, sizes, optimized=False) for _ in range(2))
    optimize(graph, library, skip=["stride-attention"])
    found = Counter(ops(graph))
    assert found[COPY] == 3 and found[PERMUTE] == 1 and found[SLICE] == 0
    assert COPY in named_ops(plain), "a library of the plain graph's ops has that of copies"
    x = random(7, 1, 24)
    np.testing.assert_allclose(compute(graph, x), compute(plain, x), rtol=1e-5, atol=1e-5)


def of_all_sizes(path: Path, library: OpLibrary, symbols: Sequence[Symbol]) -> Graph:
    """The graph as `spirloom import` writes it, with copies around attention."""

    def plain(sizes: Mapping[str, int]) -> Graph:
        return import_model(path, library, Shapes(sizes))

    def optimized(graph: Graph) -> Graph:
        optimize(graph, library, sizes_vary=True)
        return graph

    graph = open_graph(plain, optimized, symbols, library)
    return optimize_sizes(graph, library, skip=["stride-attention"])


def test_attention_of_any_size(library: OpLibrary, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(exported_attention().SerializeToString())
    graph = of_all_sizes(path, library, [Symbol("seq", 1, 40), Symbol("batch", 1, 8)])
    assert Counter(ops(graph))[COPY] == 3
    copy = next(node for node in graph.nodes if node.op == COPY)
    size, stride = copy.args[1:3]
    assert isinstance(size, tuple) and isinstance(stride, tuple)
    assert list(map(str, size)) == ["batch", "2", "seq", "12"]
    assert list(map(str, stride)) == ["72", "12", "72*batch", "1"]
    for seq, batch in product((1, 2, 7, 40), (1, 3, 8)):
        sizes = {"seq": seq, "batch": batch}
        expected = imported(exported_attention(), library, tmp_path, Shapes(sizes), optimized=False)
        x = random(seq, batch, 24)
        got = compute(specialize(graph, sizes, library), x)
        np.testing.assert_allclose(got, compute(expected, x), rtol=1e-5, atol=1e-5)


def test_strides_are_products_of_quotients(library: OpLibrary, tmp_path: Path) -> None:
    """The sizes of the result are (height + 1) // 2 and (width + 1) // 2."""
    nodes = [
        node("MaxPool", "x", "p", kernel_shape=[1, 1], strides=[2, 2]),
        node("Slice", "p one two axis", "s"),
        node("Transpose", "s", perm=[0, 2, 1, 3]),
    ]
    constants = {"one": np.array([1]), "two": np.array([3]), "axis": np.array([1])}
    path = tmp_path / "model.onnx"
    made = model(nodes, {"x": [2, 4, "height", "width"]}, constants, opset=13)
    path.write_bytes(made.SerializeToString())
    symbols = [Symbol("height", 9, 30), Symbol("width", 9, 30)]
    graph = of_all_sizes(path, library, symbols)
    assert ops(graph) == ["aten.max_pool2d", COPY]
    stride = graph.nodes[1].args[2]
    assert isinstance(stride, tuple)
    rows = "((width + 1)/2)"
    assert list(map(str, stride[1:])) == [rows[1:-1], f"((height + 1)/2)*{rows}", "1"]
    for height, width in product((9, 10, 30), (9, 12)):
        sizes = {"height": height, "width": width}
        expected = imported(made, library, tmp_path, Shapes(sizes), optimized=False)
        x = random(2, 4, height, width)
        got = compute(specialize(graph, sizes, library), x)
        np.testing.assert_array_equal(got, compute(expected, x))
