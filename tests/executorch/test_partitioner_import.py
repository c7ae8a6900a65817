"""Programs of SpirloomPartitioner are imported, checked, taken apart and used for selection."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import spirloom
import torch
from executorch.exir import to_edge_transform_and_lower
from spirloom import graph_file
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.executorch import SpirloomPartitioner
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.pte.file import ProgramFile
from spirloom.pte.importer import import_method
from spirloom.selective import read_model_calls
from spirloom.torch.options import Options
from torch.export import Dim

from spec_model.expr.types import TensorType
from tests.executorch.make_programs import NETWORKS, bundled
from tests.executorch.partitioned import PartitionedProgram
from tests.executorch.programs import Inputs, Lowered, Module
from tests.executorch.test_networks import Lookup, Mlp, Net
from tests.executorch.test_states import Cache, Recurrent, steps

LIBRARY = OpLibrary()
HOST_MEAN = {"operator_blocklist": ["aten.mean.dim"]}


def imported(program: PartitionedProgram, tmp_path: Path) -> Graph:
    (tmp_path / "net.pte").write_bytes(program.buffer)
    return import_method(ProgramFile(tmp_path / "net.pte"), LIBRARY, Options())


def check(module: torch.nn.Module, model: Any, inputs: Inputs, tolerance: float = 1e-5) -> None:
    with torch.no_grad():
        expected = module(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(model(*inputs), expected, strict=True):
        torch.testing.assert_close(torch.as_tensor(ours), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("options", [HOST_MEAN, {"force_fp16": True}, {"storage": "texture3d"}])
def test_results_match_pytorch(options: dict[str, Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, inputs = Net(), (torch.randn(1, 3, 16, 16),)
    graph = imported(PartitionedProgram(net, inputs, **options), tmp_path)
    check(
        net,
        spirloom.load(graph_file.to_bytes(graph)),
        inputs,
        1e-2 if options.get("force_fp16") else 1e-5,
    )


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mlp, PartitionedProgram, Path]:
    """A module, its program with a batch of 1 to 9, and the file."""
    torch.manual_seed(0)
    net, shapes = Mlp(), ({0: Dim("batch", min=1, max=9)},)
    program = PartitionedProgram(net, (torch.randn(5, 6),), shapes)
    path = tmp_path_factory.mktemp("dynamic") / "net.pte"
    path.write_bytes(program.buffer)
    return net, program, path


def test_dynamic_shapes_of_one_delegate_stay_open(
    dynamic: tuple[Mlp, PartitionedProgram, Path],
) -> None:
    graph = import_method(ProgramFile(dynamic[2]), LIBRARY, Options())
    assert [(symbol.min, symbol.max) for symbol in graph.symbols] == [(1, 9)]
    assert [t.name for t in (*graph.inputs, *graph.outputs)] == ["input0", "output0"]
    model = spirloom.load(graph_file.to_bytes(graph))
    for batch in (9, 1, 4):
        check(dynamic[0], model, (torch.randn(batch, 6),))


def test_dynamic_shapes_become_the_maximum(dynamic: tuple[Mlp, PartitionedProgram, Path]) -> None:
    graph = import_method(ProgramFile(dynamic[2]), LIBRARY, Options(fp16=True))
    assert not graph.symbols
    check(dynamic[0], spirloom.load(graph_file.to_bytes(graph)), (torch.randn(9, 6),), 1e-2)


def test_sizes_cannot_be_chosen(dynamic: tuple[Mlp, PartitionedProgram, Path]) -> None:
    options = Options(sizes={"batch": 3})
    with pytest.raises(ImportFailure, match="has no such size.* Import the exported program"):
        import_method(ProgramFile(dynamic[2]), LIBRARY, options)


def test_bounds_of_indices(tmp_path: Path) -> None:
    """The graph states the bounds on which the delegate relies."""
    net, indices = Lookup(), torch.tensor([[0, 9, 3], [1, 1, 7]])
    graph = imported(PartitionedProgram(net, (indices,)), tmp_path)
    bounds = graph.inputs[0].bounds
    assert bounds is not None and (bounds.low, bounds.high) == (-10, 9)
    check(net, spirloom.load(graph_file.to_bytes(graph)), (indices,))
    squares = PartitionedProgram(
        Module(lambda x: x * x), (torch.tensor([3, -7]),), ranges={"inputs_0": (-9, 9)}
    )
    bounds = imported(squares, tmp_path).inputs[0].bounds
    assert bounds is not None and (bounds.low, bounds.high) == (-9, 9)


@pytest.mark.parametrize("kind", [Cache, Recurrent])
def test_states(kind: type[torch.nn.Module], tmp_path: Path) -> None:
    module = kind()
    inputs = steps(module, 4)
    graph = imported(PartitionedProgram(copy.deepcopy(module), inputs[0]), tmp_path)
    assert graph.states
    model = spirloom.load(graph_file.to_bytes(graph))
    for given in inputs:
        check(module, model, given)


def test_the_cases_of_a_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = NETWORKS["cases"]
    torch.manual_seed(0)
    module = network.module().eval()
    with torch.no_grad():
        exported = torch.export.export(module, network.inputs())
        edge = to_edge_transform_and_lower(exported, partitioner=[SpirloomPartitioner()])
        manager = edge.to_executorch()
        (tmp_path / "net.bpte").write_bytes(bundled(manager, module, network))
        module.last.weight[0] += 0.1
        (tmp_path / "wrong.bpte").write_bytes(bundled(manager, module, network))
    assert main(["run", str(tmp_path / "net.bpte"), "--check"]) == 0
    assert capsys.readouterr().out.count("passed") == 3
    assert main(["run", str(tmp_path / "wrong.bpte"), "--check"]) == 1


@pytest.mark.parametrize("kind", [PartitionedProgram, Lowered])
def test_delegates_are_extracted(
    kind: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run one after the other with the kernel between them, they compute the program's result."""
    torch.manual_seed(0)
    net, x = Net(), torch.randn(1, 3, 16, 16)
    options = HOST_MEAN if kind is PartitionedProgram else {}
    program = kind(net, (x,), **options)
    (tmp_path / "net.pte").write_bytes(program.buffer)
    assert main(["extract", str(tmp_path / "net.pte"), "-o", str(tmp_path / "delegates")]) == 0
    assert capsys.readouterr().out.count("forward.") == 2
    first, last = (spirloom.load(tmp_path / f"delegates/forward.{i}.slg") for i in (0, 1))
    (y,) = first(x)
    mean = torch.as_tensor(y).mean([2, 3], keepdim="keepdim" in str(last))
    (result,) = last(mean)
    torch.testing.assert_close(torch.as_tensor(result), net(x), rtol=1e-5, atol=1e-5)


def test_a_dynamic_delegate_is_extracted_as_it_is(
    dynamic: tuple[Mlp, PartitionedProgram, Path], tmp_path: Path
) -> None:
    assert main(["extract", str(dynamic[2]), "-o", str(tmp_path)]) == 0
    assert (tmp_path / "forward.0.slg").read_bytes() == dynamic[1].payloads[0]


def test_description(
    dynamic: tuple[Mlp, PartitionedProgram, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(dynamic[2])]) == 0
    text = capsys.readouterr().out
    assert "SpirloomBackend" in text and "   2  aten.linear" in text and "4 constants" in text


def test_selection_by_a_program(dynamic: tuple[Mlp, PartitionedProgram, Path]) -> None:
    """The delegate's calls at several sizes, as of a graph file, and those of the import."""
    calls = read_model_calls(dynamic[2])
    assert {call.op for call in calls} == {"aten.linear", "aten.gelu"}
    inputs = [call.args[0] for call in calls]
    rows = {x.shape[0] for x in inputs if isinstance(x, TensorType)}
    assert {1, 9} <= rows


def test_damaged_payloads(dynamic: tuple[Mlp, PartitionedProgram, Path], tmp_path: Path) -> None:
    _, program, _ = dynamic
    (payload,) = program.payloads
    start = program.buffer.index(payload)
    chance = random.Random(1)
    rejected = 0
    for _ in range(200):
        damaged = bytearray(program.buffer)
        for _ in range(chance.randint(1, 3)):
            damaged[start + chance.randrange(len(payload))] = chance.randrange(256)
        (tmp_path / "net.pte").write_bytes(damaged)
        try:
            import_method(ProgramFile(tmp_path / "net.pte"), LIBRARY, Options())
        except ImportFailure:
            rejected += 1
    assert rejected > 20
