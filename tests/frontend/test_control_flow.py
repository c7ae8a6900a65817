"""If, Loop and Scan: unrolled if the control flow is known at import, otherwise unsupported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, ops, random


def body(nodes: Sequence[NodeProto], inputs: str, outputs: str) -> GraphProto:
    """A subgraph. The importer infers the types of its values."""
    infos = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names.split()]
        for names in (inputs, outputs)
    ]
    return helper.make_graph(nodes, "body", infos[0], infos[1])


def run(
    library: OpLibrary,
    folder: Path,
    nodes: Sequence[NodeProto],
    constants: Mapping[str, Array],
    outputs: Sequence[str] = ("y",),
    shape: Sequence[int] = (3, 2),
) -> Graph:
    made = model(nodes, {"x": shape}, constants, outputs)
    return imported(made, library, folder)


TRIPS = {"n": np.array(3, np.int64), "go": np.array(True)}
DOUBLING = body(
    [node("Identity", "c", "d"), node("Add", "s s", "t"), node("Neg", "t", "out")],
    "i c s",
    "d t out",
)


def test_loops_are_unrolled(library: OpLibrary, tmp_path: Path) -> None:
    loop = node("Loop", "n go x", "y z", body=DOUBLING)
    x = random(3, 2)
    graph = run(library, tmp_path, [loop], TRIPS, ("y", "z"))
    np.testing.assert_allclose(compute(graph, x), 8 * x, rtol=1e-6)
    graph = run(library, tmp_path, [loop], TRIPS, ("z", "y"))
    np.testing.assert_allclose(compute(graph, x), np.stack([-2 * x, -4 * x, -8 * x]), rtol=1e-6)


def test_loops_end_by_their_condition(library: OpLibrary, tmp_path: Path) -> None:
    counted = body(
        [node("Less", "i two", "d"), node("Add", "s x", "t")],  # reads x of the enclosing graph
        "i c s",
        "d t",
    )
    constants: dict[str, Array] = {"two": np.array(2, np.int64)}
    constants["zero"] = np.zeros((3, 2), np.float32)
    graph = run(library, tmp_path, [node("Loop", "- - zero", body=counted)], constants)
    x = random(3, 2)
    np.testing.assert_allclose(compute(graph, x), 3 * x, rtol=1e-6)


def test_nested_loops(library: OpLibrary, tmp_path: Path) -> None:
    outer = body(
        [node("Identity", "go", "on"), node("Loop", "n go u", "v w", body=DOUBLING)],
        "j k u",
        "on v",
    )
    graph = run(library, tmp_path, [node("Loop", "n go x", body=outer)], TRIPS)
    assert len(graph.nodes) == 9
    x = random(3, 2)
    np.testing.assert_allclose(compute(graph, x), 512 * x, rtol=1e-6)


def test_scan_axes(library: OpLibrary, tmp_path: Path) -> None:
    total = body(
        [node("Add", "s e", "t"), node("Identity", "t", "out")],
        "s e",
        "t out",
    )
    options = {"scan_input_axes": [1], "scan_input_directions": [1], "scan_output_axes": [-1]}
    scan = node("Scan", "zero x", "last y", body=total, num_scan_inputs=1, **options)
    zero = {"zero": np.zeros(3, np.float32)}
    graph = run(library, tmp_path, [scan], zero, ("y",), shape=(3, 5))
    x = random(3, 5)
    np.testing.assert_allclose(compute(graph, x), x[:, ::-1].cumsum(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("taken", ["then", "else"])
def test_only_the_taken_branch_is_imported(
    library: OpLibrary, tmp_path: Path, taken: str, nested: bool
) -> None:
    """The condition is computed from the shape. The other branch has nodes that do not fit x."""
    right = body([node("Neg", "x", "a")], "", "a")
    wrong = body([node("Split", "x", "b c", axis=7), node("NoOperator", "b c", "d")], "", "d")
    branches = {"then": wrong, "else": wrong, taken: right}
    choice = node("If", "is", "y", **{f"{name}_branch": graph for name, graph in branches.items()})
    if nested:
        inner = body([node("If", "is", "e", **{a.name: a.g for a in choice.attribute})], "", "e")
        choice = node("If", "true", "y", then_branch=inner, else_branch=wrong)
    rank = [node("Shape", "x", "s"), node("Size", "s", "r"), node("Equal", "r rank", "is")]
    constants = {"rank": np.array(2 if taken == "then" else 3), "true": np.array(True)}
    x = random(3, 2)
    np.testing.assert_array_equal(
        compute(run(library, tmp_path, [*rank, choice], constants), x), -x
    )


def test_conditions_that_depend_on_data_are_unsupported(library: OpLibrary, tmp_path: Path) -> None:
    depends = body(
        [
            node("ReduceSum", "s", "r", keepdims=0),
            node("Less", "r zero", "d"),
            node("Neg", "s", "t"),
        ],
        "i c s",
        "d t",
    )
    zero = {"zero": np.array(0, np.float32)}
    with pytest.raises(ImportFailure, match="its loop condition depends on the data"):
        run(library, tmp_path, [node("Loop", "- - x", body=depends)], zero)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [(1 << 20, "it has more than 4096 iterations"), (0, "it has no iterations, so the shape")],
)
def test_limits_of_iterations(library: OpLibrary, tmp_path: Path, steps: int, reason: str) -> None:
    trips = TRIPS | {"n": np.array(steps, np.int64)}
    loop = node("Loop", "n go x", "y z", body=DOUBLING)
    with pytest.raises(ImportFailure, match=reason):
        run(library, tmp_path, [loop], trips, ("y", "z"))


def test_problems_of_a_body_are_reported_once(library: OpLibrary, tmp_path: Path) -> None:
    noisy = body([node("Identity", "c", "d"), node("RandomNormalLike", "s", "t")], "i c s", "d t")
    with pytest.raises(ImportFailure) as error:
        run(library, tmp_path, [node("Loop", "n go x", body=noisy)], TRIPS)
    assert str(error.value).count("it generates random values") == 1


def test_loop_carried_integers_stay_constant(library: OpLibrary, tmp_path: Path) -> None:
    step = body(
        [node("Identity", "c", "d"), node("Add", "s s", "t"), node("Mul", "u t", "v")],
        "i c s u",
        "d t v",
    )
    constants = TRIPS | {"one": np.array(1, np.int64), "unit": np.array([1, 1], np.int64)}
    nodes = [
        node("Loop", "n go one unit", "k shape", body=step),
        node("Expand", "x shape"),
    ]
    graph = run(library, tmp_path, nodes, constants, shape=(1, 1))
    assert (graph.outputs[0].shape, graph.outputs[0].dtype) == ((64, 64), DType.F32)
    assert ops(graph) == ["aten.expand"]
