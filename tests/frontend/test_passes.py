"""The changes of each pass, with unchanged results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto
from spirloom.builder import Builder
from spirloom.ir import Array, DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes import finish, optimize
from spirloom.passes.cleanup import merge_constants, simplify_views
from spirloom.passes.large_weights import split_weights

from tests.frontend import reference_run
from tests.frontend.models import compute, imported, model, named_ops, node, ops, random


def check(
    made: ModelProto, library: OpLibrary, folder: Path, expected: list[str], *inputs: Array
) -> Graph:
    """The optimized graph has the expected ops and computes the same as the unoptimized one."""
    plain = imported(made, library, folder, optimized=False)
    graph = imported(made, library, folder)
    assert ops(graph) == expected
    assert named_ops(plain) >= set(expected), "a library of the plain graph's ops runs the other"
    np.testing.assert_allclose(
        compute(graph, *inputs), compute(plain, *inputs), rtol=1e-5, atol=1e-5
    )
    return graph


def batch_norm(channels: int) -> dict[str, Array]:
    names = ("scale", "shift", "mean", "var")
    values = {n: random(channels, seed=i) for i, n in enumerate(names)}
    return values | {"var": np.abs(values["var"]) + 0.1}


@pytest.mark.parametrize("bias", ["", " b"])
def test_batch_norm_folds_into_convolution(library: OpLibrary, tmp_path: Path, bias: str) -> None:
    nodes = [
        node("Conv", "x w" + bias, "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c scale shift mean var", "n", epsilon=0.25),
        node("Relu", "n"),
    ]
    constants = {"w": random(5, 3, 3, 3), "b": random(5, seed=9), **batch_norm(5)}
    made = model(nodes, {"x": (2, 3, 4, 5)}, constants)
    graph = check(made, library, tmp_path, ["aten.convolution"], random(2, 3, 4, 5))
    assert library.arg(graph.nodes[0], "activation") == 1
    assert graph.outputs[0].name == "y"


def test_activations_fuse_into_group_norm(library: OpLibrary) -> None:
    graph = Graph([Tensor("x", DType.F32, (2, 4, 5))])
    build = Builder(library, graph)
    (x,) = graph.inputs
    y = build.emit("aten.native_group_norm", x=x, weight=None, bias=None, group=2)
    graph.outputs = [build.emit("aten.silu", x=y)]
    graph.outputs[0].name = "y"
    inputs = {"x": random(2, 4, 5)}
    expected = reference_run.run(graph, inputs)["y"]
    optimize(graph, library)
    assert ops(graph) == ["aten.native_group_norm"]
    np.testing.assert_allclose(reference_run.run(graph, inputs)["y"], expected, rtol=1e-5)


def test_batch_norm_folds_into_linear(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Gemm", "x w", "c"),
        node("BatchNormalization", "c scale shift mean var", epsilon=0.25),
    ]
    made = model(nodes, {"x": (2, 3)}, {"w": random(3, 4), **batch_norm(4)})
    check(made, library, tmp_path, ["aten.linear"], random(2, 3))


def test_batch_norm_of_a_shared_convolution_is_kept(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Conv", "x w", "c"),
        node("BatchNormalization", "c scale shift mean var", "n"),
        node("Add", "c n"),
    ]
    made = model(nodes, {"x": (1, 3, 4, 4)}, {"w": random(5, 3, 1, 1), **batch_norm(5)})
    expected = [
        "aten.convolution",
        "aten._native_batch_norm_legit_no_training",
        "aten.add.Tensor",
    ]
    check(made, library, tmp_path, expected, random(1, 3, 4, 4))


@pytest.mark.parametrize(
    ("activation", "code"),
    [
        (node("Relu", "c"), 1),
        (node("Clip", "c low high"), 2),
        (node("HardSwish", "c"), 3),
        (node("HardSigmoid", "c", alpha=1 / 6), 4),
        (node("Sigmoid", "c"), 5),
        (node("Tanh", "c"), 7),
        (node("LeakyRelu", "c", alpha=0.2), 8),
    ],
)
@pytest.mark.parametrize("layer", ["Conv", "Gemm", "Add"])
def test_activation_fuses(
    library: OpLibrary, tmp_path: Path, activation: object, code: int, layer: str
) -> None:
    shape = (2, 3, 4, 4) if layer == "Conv" else (2, 3)
    weights = {"Conv": random(5, 3, 1, 1), "Gemm": random(3, 5), "Add": random(3)}
    constants: dict[str, Array] = {
        "w": weights[layer],
        "low": np.array(-0.5, np.float32),
        "high": np.array(0.5, np.float32),
    }
    made = model([node(layer, "x w", "c"), activation], {"x": shape}, constants, opset=14)
    op = {"Conv": "aten.convolution", "Gemm": "aten.linear", "Add": "aten.add.Tensor"}[layer]
    graph = check(made, library, tmp_path, [op], random(*shape))
    assert library.arg(graph.nodes[0], "activation") == code


def test_activation_of_a_shared_result_is_kept(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Add", "x x", "c"), node("Relu", "c", "r"), node("Erf", "c", "e")]
    nodes += [node("Pow", "r e")]
    made = model(nodes, {"x": (3,)})
    expected = ["aten.add.Tensor", "aten.relu", "aten.erf", "aten.pow.Tensor_Tensor"]
    check(made, library, tmp_path, expected, random(3))


def test_activation_of_an_output_is_kept(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Add", "x x", "c"), node("Relu", "c")], {"x": (3,)}, outputs=("y", "c"))
    check(made, library, tmp_path, ["aten.add.Tensor", "aten.relu"], random(3))


def test_bias_fuses_into_matmul(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("MatMul", "x w", "m"), node("Add", "b m")]
    made = model(nodes, {"x": (2, 3, 4)}, {"w": random(4, 5), "b": random(5, seed=1)})
    check(made, library, tmp_path, ["aten.linear"], random(2, 3, 4))


def test_row_added_to_convolution_is_no_bias(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c"), node("Add", "c b")]
    made = model(nodes, {"x": (1, 3, 4, 4)}, {"w": random(4, 3, 1, 1), "b": random(4, seed=1)})
    check(made, library, tmp_path, ["aten.convolution", "aten.add.Tensor"], random(1, 3, 4, 4))


def scalars(**values: float) -> dict[str, Array]:
    return {name: np.array(value, np.float32) for name, value in values.items()}


def test_silu_is_recognized(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Sigmoid", "x", "s"), node("Mul", "s x")], {"x": (7,)})
    check(made, library, tmp_path, ["aten.silu"], random(7))


def test_hardswish_is_recognized(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Add", "x three", "a"),
        node("Clip", "a zero six", "c"),
        node("Mul", "x c", "m"),
        node("Div", "m six"),
    ]
    made = model(nodes, {"x": (7,)}, scalars(three=3, zero=0, six=6))
    check(made, library, tmp_path, ["aten.hardswish"], 4 * random(7))


@pytest.mark.parametrize("halved_first", [False, True])
def test_gelu_is_recognized(library: OpLibrary, tmp_path: Path, halved_first: bool) -> None:
    nodes = [node("Div", "x root", "d"), node("Erf", "d", "e"), node("Add", "e one", "a")]
    if halved_first:
        nodes += [node("Mul", "x half", "h"), node("Mul", "h a")]
    else:
        nodes += [node("Mul", "x a", "h"), node("Mul", "h half")]
    made = model(nodes, {"x": (7,)}, scalars(root=2**0.5, one=1, half=0.5))
    check(made, library, tmp_path, ["aten.gelu"], random(7))


def test_layer_norm_is_recognized(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("ReduceMean", "x", "m", axes=[-1]),
        node("Sub", "x m", "d"),
        node("Pow", "d two", "p"),
        node("ReduceMean", "p", "v", axes=[-1]),
        node("Add", "v eps", "e"),
        node("Sqrt", "e", "s"),
        node("Div", "d s", "n"),
        node("Mul", "n w", "g"),
        node("Add", "g b"),
    ]
    constants = scalars(two=2, eps=1e-6) | {"w": random(5, seed=1), "b": random(5, seed=2)}
    made = model(nodes, {"x": (2, 3, 5)}, constants)
    check(made, library, tmp_path, ["aten.native_layer_norm"], random(2, 3, 5))


def test_shape_arithmetic_folds(library: OpLibrary, tmp_path: Path) -> None:
    """x.view(x.size(0), -1) as PyTorch exports it."""
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Unsqueeze", "n axes", "u"),
        node("Concat", "u rest", "t", axis=0),
        node("Reshape", "x t", "r"),
        node("Relu", "r"),
    ]
    constants: dict[str, Array] = {
        "zero": np.array(0, np.int64),
        "axes": np.array([0], dtype=np.int64),
        "rest": np.array([-1], dtype=np.int64),
    }
    made = model(nodes, {"x": (2, 3, 4)}, constants)
    graph = check(made, library, tmp_path, ["aten.view", "aten.relu"], random(2, 3, 4))
    assert graph.outputs[0].shape == (2, 12)


def test_chains_of_views_are_merged(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Flatten", "x", "f"),
        node("Unsqueeze", "f", "u", axes=[0]),
        node("Squeeze", "u", "s", axes=[0]),
        node("Relu", "s"),
    ]
    check(
        model(nodes, {"x": (2, 3, 4)}, opset=11),
        library,
        tmp_path,
        ["aten.view", "aten.relu"],
        random(2, 3, 4),
    )


def test_permutations_join_and_vanish(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Transpose", "x", "a", perm=[1, 2, 0]),
        node("Transpose", "a", "b", perm=[2, 0, 1]),
        node("Relu", "b"),
    ]
    check(model(nodes, {"x": (2, 3, 4)}), library, tmp_path, ["aten.relu"], random(2, 3, 4))


def channels_last(x: str, y: str, conv: str) -> list[NodeProto]:
    """A convolution of a channels-last model: between two permutations."""
    return [
        node("Transpose", x, f"{conv}_in", perm=[0, 3, 1, 2]),
        node("Conv", f"{conv}_in {conv}", f"{conv}_out", pads=[1, 1, 1, 1]),
        node("Transpose", f"{conv}_out", y, perm=[0, 2, 3, 1]),
    ]


def test_permutations_between_layers_vanish(library: OpLibrary, tmp_path: Path) -> None:
    """Through a bias, an activation, a gate and a residual addition."""
    nodes = [
        *channels_last("x", "a", "w"),
        node("Add", "a bias", "b"),
        node("HardSwish", "b", "c"),
        *channels_last("c", "d", "v"),
        node("Sigmoid", "d", "e"),
        node("Mul", "e scale", "f"),
        node("Add", "f c"),
    ]
    constants = {
        "w": random(5, 3, 3, 3, seed=1),
        "v": random(5, 5, 3, 3, seed=2),
        "bias": random(5, seed=3),
        "scale": random(7, 5, seed=4),
    }
    made = model(nodes, {"x": (2, 6, 7, 3)}, constants, opset=14)
    graph = imported(made, library, tmp_path)
    assert ops(graph).count("aten.permute") == 2
    assert ops(graph)[:2] == ["aten.permute", "aten.convolution"]
    assert library.arg(graph.nodes[1], "bias") is not None
    plain = imported(made, library, tmp_path, optimized=False)
    assert ops(plain).count("aten.permute") == 4
    x = random(2, 6, 7, 3)
    np.testing.assert_allclose(compute(graph, x), compute(plain, x), rtol=1e-5, atol=1e-5)


def test_permutations_with_other_readers_are_kept(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [
        node("Transpose", "x", "a", perm=[1, 0]),
        node("Softmax", "a", "s"),
        node("Sigmoid", "a", "b"),
        node("MatMul", "s b"),
    ]
    graph = imported(model(nodes, {"x": (3, 3)}, opset=14), library, tmp_path)
    assert graph.nodes[0].op == "aten.permute"
    assert ops(graph).count("aten.permute") == 1


def test_permutation_of_ones_is_a_view(library: OpLibrary) -> None:
    x = Tensor("x", DType.F32, (2, 1, 3))
    y = Tensor("y", DType.F32, (1, 2, 3))
    graph = Graph([x], [y], [Node("aten.permute", (x, (1, 0, 2)), (y,))])
    simplify_views(graph, library)
    assert ops(graph) == ["aten.view"]


def test_padding_is_absorbed(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Pad", "x p", "a"), node("Conv", "a w", pads=[0, 1, 0, 1])]
    constants = {"p": np.array([0, 0, 1, 2, 0, 0, 1, 2]), "w": random(2, 3, 3, 3)}
    made = model(nodes, {"x": (1, 3, 4, 4)}, constants)
    graph = check(made, library, tmp_path, ["aten.convolution"], random(1, 3, 4, 4))
    assert library.arg(graph.nodes[0], "padding") == (1, 3)


@pytest.mark.parametrize(("pads", "value"), [([0, 0, 1, 0], 0.0), ([1, 1, 1, 1], 0.5)])
def test_asymmetric_or_nonzero_padding_is_kept(
    library: OpLibrary, tmp_path: Path, pads: list[int], value: float
) -> None:
    nodes = [node("Pad", "x p v", "a"), node("Conv", "a w")]
    top, left, bottom, right = pads
    constants: dict[str, Array] = {
        "p": np.array([0, 0, top, left, 0, 0, bottom, right]),
        "v": np.array(value, np.float32),
        "w": random(2, 3, 3, 3),
    }
    made = model(nodes, {"x": (1, 3, 4, 4)}, constants)
    expected = ["aten.constant_pad_nd", "aten.convolution"]
    check(made, library, tmp_path, expected, random(1, 3, 4, 4))


def test_dead_nodes_go(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Exp", "x", "unused"), node("Relu", "x")]
    check(model(nodes, {"x": (3,)}), library, tmp_path, ["aten.relu"], random(3))


def test_equal_constants_merge() -> None:
    a, b = (constant(name, np.ones(3, np.float32)) for name in "ab")
    other = constant("c", np.ones((3, 1), np.float32))
    out = Tensor("y", DType.F32, (3, 3))
    graph = Graph([], [out], [Node("op", ((a, b, other),), (out,))])
    merge_constants(graph)
    tensors = list(graph.nodes[0].inputs())
    assert tensors[0] is tensors[1] is a and tensors[2] is other


def test_constants_that_differ_in_one_element_are_kept() -> None:
    values = np.arange(1000, dtype=np.float32)
    changed = np.where(values == 7, 0, values)  # outside the sampled elements
    first, second, third = map(constant, "abc", (values, changed, values.copy()))
    out = Tensor("y", DType.F32, (1000,))
    graph = Graph([], [out], [Node("op", ((first, second, third),), (out,))])
    merge_constants(graph)
    assert list(graph.nodes[0].inputs()) == [first, second, first]


def test_fp16_keeps_inputs_and_outputs(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Flatten", "r")]
    made = model(nodes, {"x": (1, 3, 4, 4)}, {"w": random(2, 3, 1, 1)})
    graph = imported(made, library, tmp_path, fp16=True)
    assert ops(graph) == ["aten._to_copy", "aten.convolution", "aten.view", "aten._to_copy"]
    assert graph.inputs[0].dtype is graph.outputs[0].dtype is DType.F32
    assert all(t.dtype is DType.F16 for n in graph.nodes[1:-1] for t in (*n.inputs(), *n.outputs))
    x = random(1, 3, 4, 4)
    plain = compute(imported(made, library, tmp_path), x)
    np.testing.assert_allclose(compute(graph, x), plain, rtol=5e-3, atol=5e-3)


def test_fp16_keeps_large_constants_finite(library: OpLibrary, tmp_path: Path) -> None:
    mask = np.array([0, -3.4e38, -np.inf], dtype=np.float32)
    made = model([node("Add", "x m")], {"x": (3,)}, {"m": mask})
    graph = imported(made, library, tmp_path, fp16=True)
    y = compute(graph, np.full(3, -100, np.float32))
    np.testing.assert_array_equal(y, [-100, -61536, -np.inf])


def test_fp16_keeps_integers(library: OpLibrary, tmp_path: Path) -> None:
    table, indices = random(4, 5), np.array([2, 0], dtype=np.int64)
    nodes = [node("Gather", "t i", "g"), node("Add", "g x")]
    made = model(nodes, {"x": (2, 5)}, {"t": table, "i": indices})
    graph = imported(made, library, tmp_path, fp16=True)
    y = compute(graph, np.zeros((2, 5), np.float32))
    np.testing.assert_allclose(y, table[[2, 0]], rtol=1e-3)


def features(graph: Graph, library: OpLibrary) -> list[int]:
    """The output features of each layer."""
    layers = [n for n in graph.nodes if library.has_arg(n.op, "weight")]
    weights = (library.arg(n, "weight") for n in layers)
    return [w.shape[0] for w in weights if isinstance(w, Tensor)]


@pytest.mark.parametrize("bias", ["", " b"])
@pytest.mark.parametrize("layer", ["Conv", "Gemm"])
def test_large_weight_is_split(library: OpLibrary, tmp_path: Path, layer: str, bias: str) -> None:
    shape, taps = ((2, 3, 4, 4), (3, 2, 2)) if layer == "Conv" else ((2, 12), (12,))
    weight = random(77, *taps) if layer == "Conv" else random(12, 77)
    nodes = [node(layer, "x w" + bias, "c"), node("LeakyRelu", "c", alpha=0.2)]
    made = model(nodes, {"x": shape}, {"w": weight, "b": random(77, seed=1)})
    graph = imported(made, library, tmp_path)
    expected = compute(graph, random(*shape))
    split_weights(graph, library, largest=36 * 12 * 4)
    op = "aten.convolution" if layer == "Conv" else "aten.linear"
    assert ops(graph) == [op, op, op, "aten.cat"]
    assert features(graph, library) == [32, 32, 13]
    assert [library.arg(n, "activation") for n in graph.nodes[:3]] == [8, 8, 8]
    assert graph.nodes[-1].outputs[0] is graph.outputs[0]
    np.testing.assert_allclose(compute(graph, random(*shape)), expected, rtol=1e-6)


@pytest.mark.parametrize("index", [(2, 3), ()])
def test_large_table_is_cut_as_the_layer_it_is_tied_to(
    library: OpLibrary, tmp_path: Path, index: tuple[int, ...]
) -> None:
    """Language models share the embedding table with the output projection."""
    table = random(77, 8)
    nodes = [
        node("Gather", "w i", "e"),
        node("Transpose", "w", "t", perm=[1, 0]),
        node("MatMul", "e t"),
    ]
    made = model(nodes, {"i": index}, {"w": table}, dtype=TensorProto.INT32)
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    graph = imported(made, library, tmp_path)
    split_weights(graph, library, largest=36 * 8 * 4)
    merge_constants(graph)
    large = [t for t in graph.tensors() if t.data is not None and t.data.size > 77]
    assert sorted(t.shape[0] for t in large) == [13, 32, 32], "each part is stored once"
    words = np.random.default_rng(1).permutation(np.array([0, 31, 32, 64, -1, -50]))
    words = words[: int(np.prod(index))].reshape(index).astype(np.int32)
    np.testing.assert_allclose(compute(graph, words), table[words] @ table.T, rtol=1e-5, atol=1e-5)


def test_tied_embeddings_share_the_split_weight(library: OpLibrary, tmp_path: Path) -> None:
    table, other = random(40, 8), random(40, 8, seed=1)
    words = np.array([[0, 39, -1], [32, 31, 5]], np.int32)
    for weight, picking in ((table, "spirloom.tied_embedding"), (other, "aten.embedding")):
        graph = Graph([Tensor("i", DType.I32, words.shape)])
        build = Builder(library, graph)
        x = build.emit("aten.embedding", x=constant("e", table), index=graph.inputs[0])
        graph.outputs = [build.emit("aten.linear", x=x, weight=constant("w", weight))]
        finish(graph, library)
        assert ops(graph) == [picking, "aten.linear"]
        np.testing.assert_allclose(
            compute(graph, words), table[words] @ weight.T, rtol=1e-5, atol=1e-5
        )


def test_small_or_unsplittable_weights_are_kept(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Conv", "x w", group=2)], {"x": (1, 4, 3, 3)}, {"w": random(64, 2, 1, 1)})
    grouped = imported(made, library, tmp_path)
    split_weights(grouped, library, largest=128)
    made = model([node("Gemm", "x w")], {"x": (2, 4)}, {"w": random(4, 64)})
    linear = imported(made, library, tmp_path)
    for largest in (64 * 4 * 4, 31 * 4 * 4):  # all of it; less than the features of one group
        split_weights(linear, library, largest)
    assert features(grouped, library) + features(linear, library) == [64, 64]


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize(("fp16", "counts"), [(False, [32, 32]), (True, [64])])
def test_every_import_splits(
    library: OpLibrary,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    optimized: bool,
    fp16: bool,
    counts: list[int],
) -> None:
    """The limit applies to the size in the computed dtype."""

    def limited(graph: Graph, library: OpLibrary, largest: int) -> None:
        split_weights(graph, library, min(largest, 32 * 4 * 4))

    monkeypatch.setattr("spirloom.passes.split_weights", limited)
    made = model([node("Gemm", "x w")], {"x": (2, 4)}, {"w": random(4, 64)})
    graph = imported(made, library, tmp_path, optimized=optimized, fp16=fp16)
    assert features(graph, library) == counts


def test_sums_with_arguments_of_their_own_are_no_plain_ones(library: OpLibrary) -> None:
    a, b = (Tensor(name, DType.F32, (2,)) for name in "ab")
    given: dict[str, object] = {"a": a, "b": b}
    calls: list[tuple[dict[str, object], bool]] = [
        ({}, True),
        ({"alpha": 2.0}, False),
        ({"activation": 1}, False),
    ]
    for args, plain in calls:
        call = Node("aten.add.Tensor", library.complete("aten.add.Tensor", given | args), (a,))
        assert library.is_plain(call) == plain
