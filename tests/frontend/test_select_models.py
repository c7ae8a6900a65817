"""Operator selection by models, as graph files and as ONNX, and its error messages."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from spirloom import graph_file
from spirloom.ir import DType, Graph, Node, Storage, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.operator_calls import calls
from spirloom.passes.fp16 import to_fp16
from spirloom.selective import read_model_calls
from spirloom.sizes import SizeExpr, SizeOp, Symbol, Varying

from codegen.select.select import Selectors, select, yaml_text
from spec_model.errors import SpecError
from spec_model.expr.types import TensorType
from spec_model.graph_file import read_calls
from tests.frontend.models import model, node, random
from tests.frontend.reference_run import LIBRARY

F32, F16 = DType.F32, DType.F16


def kept(selectors: Selectors) -> list[str]:
    """The ids of the selected variants, sorted."""
    selection = select(LIBRARY, selectors, read_model_calls)
    return sorted(v.id for v in selection.kept(LIBRARY))


def needs(graph: Graph, folder: Path, *dtypes: str, storages: tuple[str, ...] = ()) -> list[str]:
    """The variants that a graph selects."""
    path = folder / "net.slg"
    graph_file.save(graph, path)
    return kept(Selectors(models=(path,), dtypes=dtypes, storages=storages))


def message(*models: Path, dtypes: tuple[str, ...] = ()) -> str:
    with pytest.raises(SpecError) as error:
        selectors = Selectors(models=models, dtypes=dtypes, prefix="SPIRLOOM_")
        select(LIBRARY, selectors, read_model_calls)
    return str(error.value)


def chain(library: OpLibrary, *ops: str, shape: tuple[int, ...] = (2, 5)) -> Graph:
    """Consecutive unary ops."""
    graph = Graph([Tensor("x", F32, shape)])
    x = graph.inputs[0]
    for i, op in enumerate(ops):
        y = Tensor(f"y{i}", F32, shape)
        graph.nodes.append(Node(op, library.complete(op, {"x": x}), (y,), f"n{i}"))
        x = y
    graph.outputs = [x]
    return graph


def convolution(library: OpLibrary, groups: int, window: int, size: int) -> Graph:
    """A 2-D convolution of eight channels."""
    x, y = Tensor("x", F32, (1, 8, size, size)), Tensor("y", F32, (1, 8, size, size))
    weight = constant("w", random(8, 8 // groups, window, window))
    op = "aten.convolution"
    given = {"x": x, "weight": weight, "groups": groups, "padding": (window // 2, window // 2)}
    return Graph([x], [y], [Node(op, library.complete(op, given), (y,), "conv")])


def test_requested_storage(library: OpLibrary, tmp_path: Path) -> None:
    graph = chain(library, "aten.tanh")
    ids = needs(graph, tmp_path)
    assert {f"tanh_f32_{storage}" for storage in STORAGES} < set(ids), "any storage, and copies"
    for tensor in graph.tensors():
        tensor.storage = Storage.BUFFER
    assert needs(graph, tmp_path) == ["tanh_f32_buffer"]


def test_shapes_without_textures_require_buffers(library: OpLibrary, tmp_path: Path) -> None:
    assert needs(chain(library, "aten.tanh", shape=(1, 2, 3, 2, 2)), tmp_path) == [
        "tanh_f32_buffer"
    ]
    graph = chain(library, "aten.tanh", shape=(2, 300))
    for tensor in graph.tensors():
        tensor.storage = Storage.TEXTURE3D
    assert "tanh_f32_buffer" in needs(graph, tmp_path), "devices may hold no more than 256 texels"


def test_list_yaml_and_model_agree(library: OpLibrary, tmp_path: Path) -> None:
    graph = chain(library, "aten.tanh", "aten.erf", "aten.tanh")
    for fp16 in (False, True):
        if fp16:
            to_fp16(graph, library)
        for storages in ((), ("buffer",), ("texture3d",)):
            ids = needs(graph, tmp_path, storages=storages)
            path = tmp_path / "ops.yaml"
            selection = select(
                LIBRARY, Selectors(models=(tmp_path / "net.slg",), storages=storages)
            )
            path.write_text(yaml_text(LIBRARY, selection))
            assert kept(Selectors(ops_yaml=(path,))) == ids
            dtypes = ("f16",) if fp16 else ("f32",)
            assert kept(Selectors(ops=("tanh", "erf"), dtypes=dtypes, storages=storages)) == ids


def test_union_of_two_models(library: OpLibrary, tmp_path: Path) -> None:
    paths = (tmp_path / "a.slg", tmp_path / "b.slg")
    graph_file.save(chain(library, "aten.tanh", "aten.relu"), paths[0])
    graph_file.save(convolution(library, 1, 3, 4), paths[1])
    apart = [set(kept(Selectors(models=(path,)))) for path in paths]
    assert set(kept(Selectors(models=paths))) == apart[0] | apart[1]
    assert apart[0] - apart[1] and apart[1] - apart[0]


def test_half_precision_with_its_filter(library: OpLibrary, tmp_path: Path) -> None:
    graph = chain(library, "aten.tanh")
    to_fp16(graph, library)
    ids = needs(graph, tmp_path, "f16", storages=("buffer",))
    assert ids == [
        "tanh_f16_buffer",
        "to_copy_f16_buffer_f32_buffer",
        "to_copy_f32_buffer_f16_buffer",
    ]


def test_files_read_as_the_front_end_wrote_them(library: OpLibrary, tmp_path: Path) -> None:
    x, a = Tensor("x", F32, (2, 3)), Tensor("a", F32, (4, 3), storage=Storage.BUFFER)
    i, y = constant("i", np.array([1, 0], dtype=np.int32)), Tensor("y", F16, (2, 0, 3))
    every = Node("test.op", (a, None, i, -5, 0.1, True, (1, -2), (), "f16"), (y,), "all")
    graph = Graph([x], [y], [Node("aten.cat", ((x, x), -1), (a,), "join"), every])
    graph_file.save(graph, tmp_path / "net.slg")
    assert read_calls(tmp_path / "net.slg") == calls(graph)
    assert calls(graph)[0].storage == "buffer"


def test_sizes_of_nested_expressions(library: OpLibrary, tmp_path: Path) -> None:
    """The sizes of calls are those that the front end computes, at every size of the symbol."""
    half = SizeExpr(((1, ("n",)), (1, ())), 2)  # (n + 1) // 2
    square = SizeExpr(((1, (half, half)), (-3, ())))
    least = SizeExpr(((1, (square,)), (1, ("n",)), (2, ())), 1, SizeOp.MIN)
    most = SizeExpr(((2, (least,)), (1, ("n",))), 1, SizeOp.MAX)
    x = Tensor("x", F32, (Varying(9, SizeExpr(((1, ("n",)),))),))
    nodes = []
    wanted = (half, square, least, most)
    for number, expr in enumerate(wanted):
        y = Tensor(f"y{number}", F32, (Varying(expr.value({"n": 9}), expr),))
        nodes.append(Node("test.op", (x, y.shape[0]), (y,), str(number)))
    graph = Graph([x], [node.outputs[0] for node in nodes], nodes, "", (Symbol("n", 3, 9),))
    graph_file.save(graph, tmp_path / "net.slg")
    found: dict[int, list[object]] = {}
    for call in read_calls(tmp_path / "net.slg"):
        given, size = call.args
        assert isinstance(given, TensorType)
        found.setdefault(given.shape[0], []).append(size)
    assert {3, 4, 5, 6, 9} <= set(found)
    for n, sizes in found.items():
        assert sizes == [expr.value({"n": n}) for expr in wanted], n


def test_onnx_selects_as_its_import(library: OpLibrary, tmp_path: Path) -> None:
    made = model([node("Erf", "x", "a"), node("Tanh", "a")], {"x": [2, 5]})
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    assert kept(Selectors(models=(path,))) == needs(
        chain(library, "aten.erf", "aten.tanh"), tmp_path
    )


def test_the_generator_does_not_import_models(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    with pytest.raises(SpecError) as error:
        select(LIBRARY, Selectors(models=(path,)))
    assert str(error.value) == (
        f"MODELS: error: {path}: .onnx files require the importers. Run `python3 -m "
        "spirloom.selective` in place of `python3 -m codegen`, with frontend/ on PYTHONPATH, or "
        "specify the graph file that `spirloom import` writes for the model."
    )


def test_message_of_open_dimensions(tmp_path: Path) -> None:
    made = model([node("Relu", "x")], {"x": ["batch", 5]})
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    text = message(path)
    assert text.startswith(f"SPIRLOOM_MODELS: error: {path}: ")
    assert "--dim batch=N" in text
    assert text.endswith("must be imported with `spirloom import`. Specify its graph file.")


def test_message_of_an_unknown_op(library: OpLibrary, tmp_path: Path) -> None:
    graph = chain(library, "aten.relu", "aten.tanh")
    graph.nodes[1].op = "aten.tahn"
    path = tmp_path / "net.slg"
    graph_file.save(graph, path)
    text = message(path)
    assert text == (
        f"SPIRLOOM_MODELS: error: {path}: node 1 (n1, aten.tahn): the op is not in the specs. "
        "Did you mean aten.tan or aten.tanh or aten.atan?"
    )


def test_message_of_a_filter_that_removes_a_required_variant(
    library: OpLibrary, tmp_path: Path
) -> None:
    path = tmp_path / "net.slg"
    graph_file.save(chain(library, "aten.relu", "aten.tanh"), path)
    assert message(path, dtypes=("f16",)).splitlines() == [
        f"SPIRLOOM_MODELS: error: {path}: node {i} (n{i}, aten.{op}): the filters (dtypes f16; "
        f"storages {', '.join(s for s in STORAGES)}) exclude its variants: "
        f"{', '.join(f'{op}_f32_{s}' for s in STORAGES)}."
        for i, op in enumerate(("relu", "tanh"))
    ]


STORAGES = [v.storage for v in LIBRARY.ops["aten.tanh"].variants if v.dtype == "f32"]


def test_message_of_wrong_arguments(library: OpLibrary, tmp_path: Path) -> None:
    path = tmp_path / "net.slg"
    graph = chain(library, "aten.relu")
    graph.nodes[0].args += (1,)
    graph_file.save(graph, path)
    assert message(path) == (
        f"SPIRLOOM_MODELS: error: {path}: node 0 (n0, aten.relu) has 2 arguments; the op has 1. "
        "Import the model again."
    )


def test_optional_tensors_of_older_files_are_absent(library: OpLibrary, tmp_path: Path) -> None:
    x, y = Tensor("x", F32, (2, 8)), Tensor("y", F32, (2, 4))
    args = library.complete("aten.linear", {"x": x, "weight": constant("w", random(4, 8))})
    assert library.arg_names("aten.linear")[-2:] == ["rms_weight", "rms_eps"]
    file_bytes, older = (
        Graph([x], [y], [Node("aten.linear", a, (y,), "n")]) for a in (args, args[:-2])
    )
    assert needs(older, tmp_path) == needs(file_bytes, tmp_path)


def test_message_of_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.slg"
    assert message(path) == (
        f"SPIRLOOM_MODELS: error: {path}: cannot be read: No such file or directory."
    )


def test_damaged_files_never_end_in_a_traceback(library: OpLibrary, tmp_path: Path) -> None:
    graph = convolution(library, 1, 3, 4)
    file_bytes = graph_file.to_bytes(graph)
    header = struct.unpack_from("<I", file_bytes)[0] + 4
    generator = np.random.default_rng(7)
    path = tmp_path / "net.slg"
    for _ in range(300):
        damaged = bytearray(file_bytes)
        for at in generator.integers(12, header, size=3):
            damaged[at] = generator.integers(256)
        path.write_bytes(damaged)
        try:
            select(LIBRARY, Selectors(models=(path,)))
        except SpecError as error:
            assert str(error).startswith("MODELS: error: ")


def test_truncated_files(library: OpLibrary, tmp_path: Path) -> None:
    file_bytes = graph_file.to_bytes(chain(library, "aten.relu"))
    path = tmp_path / "net.slg"
    for kept_bytes in (0, 5, 11, 12, 100, struct.unpack_from("<I", file_bytes)[0] + 3):
        path.write_bytes(file_bytes[:kept_bytes])
        assert "is not a valid graph file: " in message(path)
