"""Import of ExecuTorch programs. The references are PyTorch and ExecuTorch's runtime."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import executorch
import pytest
import spirloom
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from spirloom import graph_file
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.pte.file import ProgramFile
from spirloom.pte.importer import import_method
from spirloom.torch.options import Options

from spec_model.flatbuffer_schema import Schema, parse
from tests.executorch.kernel_table import table
from tests.executorch.make_programs import NETWORKS, Network, bundled, lowered
from tests.executorch.programs import load, run
from tests.executorch.test_states import Accumulator, Cache, Recurrent, Window, steps

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = OpLibrary()
RUNNING = [name for name, network in NETWORKS.items() if network.runs == 1]


def program(network: Network, path: Path) -> tuple[Any, tuple[Any, ...], bytes]:
    """A module, its inputs and its program, also written to `path`."""
    torch.manual_seed(0)
    module, inputs = network.module().eval(), network.inputs()
    with torch.no_grad():
        data = bytes(lowered(network, module, inputs).buffer)
    path.write_bytes(data)
    return module, inputs, data


def imported(path: Path) -> Graph:
    return import_method(ProgramFile(path), LIBRARY, Options())


def computed(graph: Graph, inputs: tuple[Any, ...]) -> list[torch.Tensor]:
    return [torch.as_tensor(y) for y in spirloom.load(graph_file.to_bytes(graph))(*inputs)]


@pytest.mark.parametrize("name", RUNNING)
def test_results_match_pytorch_and_executorch(name: str, tmp_path: Path) -> None:
    module, inputs, data = program(NETWORKS[name], tmp_path / "net.pte")
    with torch.no_grad():
        eager = module(*inputs)
    eager = eager if isinstance(eager, tuple) else (eager,)
    pieces = run(load(data), inputs)
    tolerance = 1e-2 if name == "half" else 1e-5
    for ours, *others in zip(computed(imported(tmp_path / "net.pte"), inputs), eager, pieces,
                             strict=True):  # fmt: skip
        for other in others:
            assert ours.shape == other.shape
            torch.testing.assert_close(ours, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("delegated", [True, False])
@pytest.mark.parametrize("kind", [Accumulator, Window, Cache, Recurrent])
def test_states_match_executorch(
    kind: type[torch.nn.Module], delegated: bool, tmp_path: Path
) -> None:
    """Mutable buffers of a Vulkan delegate, or written by ExecuTorch's kernels."""
    module = kind()
    inputs = steps(module, 6)
    options = {"alias_buffer_mutations": True}
    network = Network(
        lambda: module, lambda: inputs[0], delegated, options=options, store_initial_values=True
    )
    with torch.no_grad():
        manager = lowered(network, copy.deepcopy(module), inputs[0])
    (tmp_path / "net.pte").write_bytes(bytes(manager.buffer))
    method = load(bytes(manager.buffer))
    graph = imported(tmp_path / "net.pte")
    assert len(graph.states) == len([name for name, _ in module.named_buffers() if name != "slots"])
    model = spirloom.load(graph_file.to_bytes(graph))
    for given in inputs:
        with torch.no_grad():
            eager = module(*given)
        eager = eager if isinstance(eager, tuple) else (eager,)
        ours = [torch.as_tensor(y) for y in model(*given)]
        for mine, *others in zip(ours, eager, run(method, given), strict=True):
            for other in others:
                torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)


def test_states_without_the_option_are_rejected(tmp_path: Path) -> None:
    """ExecuTorch's partitioner then makes the updates unused outputs of the delegate."""
    module = Accumulator()
    network = Network(lambda: module, lambda: steps(module, 1)[0])
    (tmp_path / "net.pte").write_bytes(bytes(lowered(network, module, network.inputs()).buffer))
    with pytest.raises(ImportFailure, match="2 results; the call uses 1.*'alias_buffer_mutations'"):
        imported(tmp_path / "net.pte")


def test_fusion_crosses_delegate_boundaries(tmp_path: Path) -> None:
    """ExecuTorch runs several delegates; the imported graph is fused across them."""
    program(NETWORKS["decoder"], tmp_path / "net.pte")
    method = ProgramFile(tmp_path / "net.pte").program["methods"][0]
    assert len(method["delegates"]) > 1
    assert {delegate["id"] for delegate in method["delegates"]} == {"VulkanBackend"}
    ops = [node.op for node in imported(tmp_path / "net.pte").nodes]
    assert "aten._to_copy" not in ops


def test_other_backends_are_rejected(tmp_path: Path) -> None:
    network = NETWORKS["islands"]
    module, inputs = network.module().eval(), network.inputs()
    exported = torch.export.export(module, inputs)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    (tmp_path / "net.pte").write_bytes(bytes(edge.to_executorch().buffer))
    with pytest.raises(ImportFailure, match="XnnpackBackend, delegate 0.0: delegates of this bac"):
        imported(tmp_path / "net.pte")
    assert main(["inspect", str(tmp_path / "net.pte")]) == 0


def test_the_cases_of_a_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = NETWORKS["cases"]
    torch.manual_seed(0)
    module = network.module().eval()
    with torch.no_grad():
        manager = lowered(network, module, network.inputs())
        (tmp_path / "net.bpte").write_bytes(bundled(manager, module, network))
        module.last.weight[0] += 0.1
        (tmp_path / "wrong.bpte").write_bytes(bundled(manager, module, network))
    assert main(["run", str(tmp_path / "net.bpte"), "--check"]) == 0
    assert capsys.readouterr().out.count("passed") == 3
    assert main(["run", str(tmp_path / "wrong.bpte"), "--check"]) == 1
    assert capsys.readouterr().out.count("FAILED") == 3


def test_the_table_of_kernels_is_fresh() -> None:
    assert table() == (ROOT / "frontend/spirloom/pte/kernels.txt").read_text()


UPSTREAM = {
    "schema/executorch/program.fbs": "exir/_serialize/program.fbs",
    "schema/executorch/bundled_program.fbs": "devtools/bundled_program/serialize/"
    "bundled_program_schema.fbs",
    "integrations/executorch/blob/vk_graph.fbs": "backends/vulkan/serialization/schema.fbs",
}


@pytest.mark.parametrize("ours", UPSTREAM)
def test_layouts_are_those_of_executorch(ours: str) -> None:
    """Compares field numbers and types from the roots. Our tables may end earlier."""
    own = parse((ROOT / ours).read_text())
    text = (Path(next(iter(executorch.__path__))) / UPSTREAM[ours]).read_text()
    theirs = parse(_plain(text))
    assert own.identifier == theirs.identifier
    compared: set[tuple[str, str]] = set()
    _compare(own, theirs, own.root, theirs.root, compared)
    assert {name for name, _ in compared} == {*own.tables}


def _plain(text: str) -> str:
    """Removes includes and attributes. The element type of an included file becomes a byte."""
    enums = "enum ScalarType : byte { BYTE = 0 }\n"
    text = re.sub(r"executorch_flatbuffer\.ScalarType", "ScalarType", text)
    text = re.sub(r"^include .*$|\([^)]*\)|^file_extension .*$", "", text, flags=re.MULTILINE)
    return enums + text


def _compare(own: Schema, theirs: Schema, a: str, b: str, done: set[tuple[str, str]]) -> None:
    if (a, b) in done:
        return
    done.add((a, b))
    names = dict(zip((f.number for f in theirs.tables[b]), theirs.tables[b], strict=True))
    for field in own.tables[a]:
        other = names[field.number]
        assert field.is_vector == other.is_vector, (a, field, other)
        if field.of in own.tables:
            _compare(own, theirs, field.of, other.of, done)
        elif field.of in own.unions:
            pairs = zip(own.unions[field.of], theirs.unions[other.of], strict=True)
            for ours, upstream in pairs:
                _compare(own, theirs, ours, upstream, done)
        else:
            assert _scalar(field.of) == _scalar(other.of), (a, field, other)
            assert field.default == other.default or field.of == "byte", (a, field, other)


def _scalar(name: str) -> str:
    same = {"int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64"}
    return same.get(name, name)
