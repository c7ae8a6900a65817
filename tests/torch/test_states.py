"""Buffers that a module changes become states: several runs compared with eager PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.torch import decompose, program_of
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.options import Options

from tests.frontend.reference_run import run
from tests.torch.archives import needs_archives

LIBRARY = OpLibrary()


class Total(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 2.0


class Cache(torch.nn.Module):  # type: ignore[misc]
    """K and V written at a position, K with index_put, V with copy."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(6, 4), persistent=False)
        self.register_buffer("values", torch.zeros(6, 4))

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.keys.index_put_((at,), x)
        self.values.copy_(torch.cat([self.values[1:], x * 2.0], 0))
        return torch.softmax(x @ self.keys.T, -1) @ self.values


class Recurrent(torch.nn.Module):  # type: ignore[misc]
    """Two buffers that depend on each other's previous values."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.Linear(3, 3)
        self.register_buffer("hidden", torch.ones(1, 3))
        self.register_buffer("before", torch.zeros(1, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.cell(self.hidden) + x)
        result = hidden + self.before
        self.before.copy_(self.hidden)
        self.hidden.copy_(hidden)
        return result


class Row(torch.nn.Module):  # type: ignore[misc]
    """Writes a part of a buffer in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.rows[2:3] = x
        return self.rows.sum(0)


def some(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


MODULES: dict[type[torch.nn.Module], Any] = {
    Total: lambda i: (some(3),),
    Cache: lambda i: (some(1, 4), torch.tensor([i])),
    Recurrent: lambda i: (some(1, 3),),
    Row: lambda i: (some(1, 3),),
}


def exported_of(module: torch.nn.Module, inputs: Sequence[Any]) -> Any:
    with torch.no_grad():
        return torch.export.export(copy.deepcopy(module).eval(), tuple(inputs), strict=False)


def graph_of(module: torch.nn.Module, inputs: Sequence[Any], raw: bool = False) -> Graph:
    exported = exported_of(module, inputs)
    program = program_of(exported if raw else decompose(exported, LIBRARY))
    return build(program, LIBRARY, Options())


def check(graph: Graph, module: torch.nn.Module, runs: Sequence[Sequence[Any]]) -> None:
    """Compares outputs and buffers with eager PyTorch after each run."""
    states: dict[str, Any] = {}
    for given in runs:
        arrays = {
            tensor.name: value.numpy().astype(tensor.dtype.numpy)
            for tensor, value in zip(graph.inputs, given, strict=True)
        }
        (found,) = run(graph, arrays, states).values()
        with torch.no_grad():
            np.testing.assert_allclose(found, module(*given), rtol=1e-5, atol=1e-5)
        buffers = dict(module.named_buffers())
        for name, array in states.items():
            np.testing.assert_allclose(array, buffers[name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", MODULES)
def test_states_persist_between_runs(kind: type[torch.nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(2)
    module = kind()
    runs = [MODULES[kind](i) for i in range(5)]
    graph = graph_of(module, runs[0])
    assert {s.tensor.name for s in graph.states} == set(dict(module.named_buffers()))
    graph_file.save(graph, tmp_path / "net.slg")
    check(graph_reader.load(tmp_path / "net.slg"), module, runs)


@needs_archives
@pytest.mark.parametrize("kind", MODULES)
def test_archives_give_equal_bytes(kind: type[torch.nn.Module], tmp_path: Path) -> None:
    module, inputs = kind(), MODULES[kind](0)
    exported = decompose(exported_of(module, inputs), LIBRARY)
    torch.export.save(exported, tmp_path / "net.pt2")
    graph = build(read_archive(tmp_path / "net.pt2"), LIBRARY, Options())
    wanted = build(program_of(exported), LIBRARY, Options())
    assert graph_file.to_bytes(graph) == graph_file.to_bytes(wanted)


def test_buffers_written_by_in_place_calls() -> None:
    """An export without decomposition writes in place."""
    module = Total()
    runs = [MODULES[Total](i) for i in range(3)]
    check(graph_of(module, runs[0], raw=True), module, runs)


def test_in_place_writes_of_parts_need_decomposition() -> None:
    with pytest.raises(ImportFailure, match=r"'rows' in place.*run_decompositions\(\{\}\)"):
        graph_of(Row(), (some(1, 3),), raw=True)


def test_counters_need_a_range() -> None:
    class Counter(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros((), dtype=torch.int64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(1)
            return x + self.count

    module, inputs = Counter(), (some(2),)
    program = program_of(decompose(exported_of(module, inputs), LIBRARY))
    with pytest.raises(ImportFailure, match="int64"):
        build(program, LIBRARY, Options())
    graph = build(program, LIBRARY, Options.of({}, {"count": (0, 1000)}, False, True))
    check(graph, module, [(some(2),) for _ in range(3)])


def test_written_inputs_are_refused() -> None:
    class Writes(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.add_(1.0)
            return x * 2.0

    with pytest.raises(ImportFailure, match="'x' in place; only buffers are supported"):
        graph_of(Writes(), (some(2),))


def test_fp16_keeps_float32_states() -> None:
    module, inputs = Recurrent(), (some(1, 3),)
    program = program_of(decompose(exported_of(module, inputs), LIBRARY))
    graph = build(program, LIBRARY, Options(fp16=True))
    assert all(str(t) == "f32[1, 3]" for s in graph.states for t in (s.tensor, s.update))
    states: dict[str, Any] = {}
    for _ in range(3):
        given = (some(1, 3),)
        (found,) = run(graph, {graph.inputs[0].name: given[0].numpy()}, states).values()
        with torch.no_grad():
            np.testing.assert_allclose(found, module(*given), rtol=2e-2, atol=2e-2)
