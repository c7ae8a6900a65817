"""Partitioned ONNX models: nodes on the device, reasons of nodes on the host, and the models of
segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.onnx.importer import read
from spirloom.onnx.inputs import Shapes
from spirloom.onnx.partition.model import host_of
from spirloom.onnx.partition.partitioner import (
    Options,
    Partitioned,
    partition_model,
    with_embedded_data,
)
from spirloom.op_library import OpLibrary
from spirloom.partition import Costs, Placement

from spec_model.interval import Interval
from tests.frontend.models import model, node, random
from tests.frontend.partition_models import CASES, LARGE, NON_ZERO, ROWS, SQUARE, Case

EAGER = Costs(host_flops=1, host_bytes=1)  # every supported node is worth its transfers


def partitioned(
    made: ModelProto,
    folder: Path,
    library: OpLibrary,
    stay: Sequence[str] = (),
    shapes: Shapes | None = None,
    costs: Costs = EAGER,
) -> Partitioned[Graph]:
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    read_model, remaining = read(path, shapes or Shapes())
    options = Options(library, remaining, stay=stay, costs=costs)
    return partition_model(path, read_model, options, lambda graph: graph)


def reasons(found: Partitioned[Graph]) -> Mapping[str, str]:
    return {node.name: node.reason for node in found.report.on_host}


def sides(found: Partitioned[Graph]) -> list[str]:
    return [segment.placement.value for segment in found.plan.segments]


@pytest.mark.parametrize("name", CASES)
def test_host_nodes(name: str, tmp_path: Path, library: OpLibrary) -> None:
    case = CASES[name]
    found = partitioned(case.model(), tmp_path, library, case.stay)
    stay = {n.op for n in found.report.on_host if not n.reason.startswith("not worth")}
    assert stay == set(case.stays.split())
    assert len(found.built) == sides(found).count("device")


@pytest.mark.parametrize("name", CASES)
def test_segments_are_valid_models(name: str, tmp_path: Path, library: OpLibrary) -> None:
    """Each segment is a valid model with all values that its nodes and subgraphs read."""
    found = partitioned(CASES[name].model(), tmp_path, library, CASES[name].stay)
    for segment in found.plan.segments:
        part = with_embedded_data(found.model_of(segment), "part")
        for info in (*part.graph.input, *part.graph.output):
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.shape.SetInParent()
        onnx.checker.check_model(part)
        assert [info.name for info in part.graph.input] == list(segment.inputs)
        assert [info.name for info in part.graph.output] == list(segment.outputs)


def test_reasons_and_segment_inputs(tmp_path: Path, library: OpLibrary) -> None:
    found = partitioned(NON_ZERO.model(), tmp_path, library)
    assert reasons(found) == {
        "NonZero_n": "its output size depends on the data; shapes must be known at import",
        "Transpose_t": "it reads 'n', which has a size that depends on the data",
        "GatherND_g": "it reads 't', which has a size that depends on the data",
        "ReduceMean_m": "it reads 'g', which has a size that depends on the data",
    }
    assert sides(found) == ["device", "host", "device"]
    assert [segment.inputs for segment in found.plan.segments][1:] == [("r",), ("r", "m")]
    assert [part.bytes_in for part in found.report.segments] == [6912, 36864, 36868]


def test_a_supported_model_is_one_segment(tmp_path: Path, library: OpLibrary) -> None:
    made = model([node("MatMul", "x w", "h"), node("Relu", "h")], {"x": (2, 32)}, SQUARE)
    found = partitioned(made, tmp_path, library)
    assert sides(found) == ["device"] and found.report.is_full


def test_partitions_are_deterministic(tmp_path: Path, library: OpLibrary) -> None:
    first, second = (partitioned(NON_ZERO.model(), tmp_path, library) for _ in range(2))
    assert first.report == second.report
    assert [first.model_of(s) for s in first.plan.segments] == [
        second.model_of(s) for s in second.plan.segments
    ]


def test_transfers_that_cost_more_than_they_save(tmp_path: Path, library: OpLibrary) -> None:
    case = Case([node("NonZero", "x", "n"), node("Neg", "x", "y")], ROWS, "")
    found = partitioned(case.model(), tmp_path, library, costs=Costs())
    assert reasons(found)["Neg_y"].startswith("not worth its transfers: moves 10.2 kB for ")
    assert sides(found) == ["host"]


def test_patterns_are_not_split(tmp_path: Path, library: OpLibrary) -> None:
    """silu is x · sigmoid(x): both nodes run on one side."""
    case = Case(
        [node("MatMul", "x w", "h"), node("Sigmoid", "h", "s"), node("Mul", "h s", "y"),
         node("NonZero", "y", "n")],
        ROWS, "NonZero", SQUARE, {"n": TensorProto.INT64},
    )  # fmt: skip
    network = partitioned(case.model(), tmp_path, library).network
    assert {1, 2} <= {index for group in network.groups for index in group}


def test_bounds_of_host_outputs(tmp_path: Path, library: OpLibrary) -> None:
    case = Case(
        [node("ArgMax", "x", "i", axis=1), node("Add", "i i", "y")],
        ROWS, "", {}, {"y": TensorProto.INT64},
    )  # fmt: skip
    found = partitioned(case.model(), tmp_path, library, ["ArgMax"])
    assert reasons(found)["Add_y"] == (
        "it reads 'i' of dtype int64 from ArgMax on the host, and its uses imply no bounds. "
        "Set them with --range i=LOW..HIGH or --assume-int32 (in Python ranges= or "
        "assume_int32=True)"
    )
    shapes = Shapes(ranges={"i": Interval(0, 31)})
    found = partitioned(case.model(), tmp_path, library, ["ArgMax"], shapes)
    assert list(reasons(found)) == ["ArgMax_i"]
    (graph,) = found.built.values()
    assert graph.inputs[0].bounds == Interval(0, 31)


def test_unsupported_inputs(tmp_path: Path, library: OpLibrary) -> None:
    graph = helper.make_graph(
        [node("Add", "d d", "e"), node("Cast", "e", "f", to=TensorProto.FLOAT),
         node("MatMul", "f w")],
        "g", [helper.make_tensor_value_info("d", TensorProto.DOUBLE, (32, 32))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(SQUARE["w"], "w")],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found = partitioned(made, tmp_path, library)
    assert set(reasons(found)) == {"Add_e"}
    assert reasons(found)["Add_e"].startswith("Input 'd' has element type DOUBLE")
    assert sides(found) == ["host", "device"]


def with_function(opset: int) -> ModelProto:
    """y = own.Counted(x w) w: a matmul, scaled by its number of nonzero elements."""
    body = [node("MatMul", "a b", "p"), node("NonZero", "p", "n"), node("Shape", "n", "s"),
            node("Cast", "s", "f", to=TensorProto.FLOAT), node("ReduceSum", "f", "t", keepdims=0),
            node("Mul", "p t", "c")]  # fmt: skip
    function = helper.make_function(
        "own", "Counted", ["a", "b"], ["c"], body, [helper.make_opsetid("", opset)]
    )
    calls = [
        helper.make_node("Counted", ["x", "w"], ["m"], "count", domain="own"),
        node("MatMul", "m w"),
    ]
    made = model(calls, {"x": (32, 32)}, SQUARE, opset=17)
    made.functions.append(function)
    made.opset_import.append(helper.make_opsetid("own", 1))
    return made


def test_calls_with_unsupported_nodes_are_inlined(tmp_path: Path, library: OpLibrary) -> None:
    found = partitioned(with_function(17), tmp_path, library)
    stay = [f"count/{op}" for op in ("NonZero_n", "Shape_s", "Cast_f")]
    assert list(reasons(found)) == stay
    assert sides(found) == ["device", "host", "device"]


def test_calls_with_another_opset_are_not_inlined(tmp_path: Path, library: OpLibrary) -> None:
    found = partitioned(with_function(16), tmp_path, library)
    assert reasons(found)["count"].startswith("its inner node NonZero: its output size")


def test_large_constants_of_host_segments(tmp_path: Path, library: OpLibrary) -> None:
    found = partitioned(LARGE.model(), tmp_path, library, LARGE.stay)
    (host,) = (s for s in found.plan.segments if s.placement is Placement.HOST)
    part = with_embedded_data(found.model_of(host), "part")
    (large,) = map(numpy_helper.to_array, part.graph.initializer)
    np.testing.assert_array_equal(large, LARGE.constants["large"])


@pytest.mark.skipif(find_spec("onnxruntime") is not None, reason="ONNX Runtime is installed")
def test_message_without_onnx_runtime() -> None:
    made = model([node("NonZero", "x")], {"x": (3,)})
    with pytest.raises(ImportFailure, match="The nodes on the host .NonZero. require ONNX Runtime"):
        host_of("onnxruntime")(made)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_models(seed: int, tmp_path: Path, library: OpLibrary) -> None:
    content = bytearray(NON_ZERO.model().SerializeToString())
    choose = np.random.default_rng(seed)
    names = ("GatherND", "ReduceMean", "Transpose", "pads", "perm")
    offsets = [content.find(name.encode()) for name in names]
    for _ in range(12):
        damaged = bytearray(content)
        offset = int(choose.choice(offsets)) + int(choose.integers(-6, 16))
        damaged[offset] = int(choose.integers(0, 256))
        path = tmp_path / "model.onnx"
        path.write_bytes(bytes(damaged))
        try:
            read_model, shapes = read(path, Shapes())
            partition_model(path, read_model, Options(library, shapes), lambda graph: graph)
        except ImportFailure as error:
            assert str(error)


def test_names_with_several_producers_or_none(tmp_path: Path, library: OpLibrary) -> None:
    """ONNX's checker does not run on models with a newer IR version."""
    for nodes, message in (
        ([node("Relu", "x"), node("Neg", "x")], "'y' has two producers"),
        ([node("Relu", "x", "z")], "'y' has no producer"),
    ):
        made = model(nodes, {"x": (3,)})
        made.ir_version = 99
        with pytest.raises(ImportFailure, match=f"is not a valid ONNX model: {message}."):
            partitioned(made, tmp_path, library)


def test_segments_contain_called_functions(tmp_path: Path, library: OpLibrary) -> None:
    made = with_function(16)
    other = made.functions.add()
    other.CopyFrom(made.functions[0])
    other.name = "Uncalled"
    found = partitioned(made, tmp_path, library)
    (host,) = (s for s in found.plan.segments if s.placement is Placement.HOST)
    assert [function.name for function in found.model_of(host).functions] == ["Counted"]


def test_sparse_initializers_are_constants(tmp_path: Path, library: OpLibrary) -> None:
    made = model([node("Add", "x s")], {"x": (4,)})
    sparse = made.graph.sparse_initializer.add()
    sparse.values.CopyFrom(numpy_helper.from_array(random(1), "s"))
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([1]), "i"))
    sparse.dims.append(4)
    found = partitioned(made, tmp_path, library)
    assert [s.placement for s in found.plan.segments] == [Placement.DEVICE]


@pytest.mark.parametrize("size", [(1, 8), "1..8"])
def test_sizes_are_fixed(size: object, tmp_path: Path) -> None:
    from spirloom.onnx import load

    path = tmp_path / "model.onnx"
    path.write_bytes(model([node("Relu", "x")], {"x": ("batch", 3)}).SerializeToString())
    with pytest.raises(ImportFailure, match=r"^dims\['batch'\] is .*1.*8.*; expected one size"):
        load(path, dims={"batch": size})  # type: ignore[dict-item]
