"""torch.cond in graph files, and refusals, which name the operator that does not give a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spirloom
import spirloom.torch
import torch
from spirloom import graph_file
from spirloom.errors import ImportFailure
from spirloom.op_library import OpLibrary
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.options import Options
from torch import nn
from torch.export import Dim


class Branches(nn.Module):  # type: ignore[misc]
    """A condition in a branch of a condition, two results."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        def large(x: Any) -> Any:
            return torch.cond(x.sum() > 9, lambda x: (x * 2, x.clone()), self.small, (x,))

        y, z = torch.cond(x.sum() > 0, large, lambda x: (self.second(x), x * 0.5), (x,))
        return y + 1, z

    def small(self, x: Any) -> Any:
        return torch.relu(self.first(x)), x + 3


def check(module: nn.Module, model: Any, x: torch.Tensor) -> None:
    with torch.no_grad():
        for ours, theirs in zip(model(x), module(x), strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("route", ["process", "archive"])
def test_both_branches_are_computed(route: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, x = Branches().eval(), torch.randn(3, 4)
    shapes = ({0: Dim("rows", min=2, max=6)},)
    exported = spirloom.torch.decompose(torch.export.export(module, (x,), dynamic_shapes=shapes))
    if route == "process":
        data = spirloom.torch.export(exported)
    else:
        torch.export.save(exported, tmp_path / "net.pt2")
        graph = build(read_archive(tmp_path / "net.pt2"), OpLibrary(), Options())
        data = graph_file.to_bytes(graph)
    model = spirloom.load(data)
    for rows, offset in ((3, -2.0), (6, 5.0), (2, 0.1)):
        check(module, model, torch.rand(rows, 4) + offset)


class Loop(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        step = lambda i, x: (i + 1, x * 2)  # noqa: E731
        return torch.while_loop(lambda i, x: i < 3, step, (torch.tensor(0), x))[1] + 1


def test_other_control_flow_is_named() -> None:
    with pytest.raises(ImportFailure) as error:
        spirloom.torch.export(Loop(), (torch.randn(2, 3),))
    text = str(error.value)
    assert "1 of 3 nodes cannot be imported" in text
    assert "control flow 'while_loop' is not supported" in text
    assert "spirloom.torch.compile" in text and "test_control_flow.py" in text


class Statistics(nn.Module):  # type: ignore[misc]
    """Returns a result of an operator that Spirloom does not compute."""

    def __init__(self, reads: bool) -> None:
        super().__init__()
        self.reads = reads

    def forward(self, x: Any) -> Any:
        y, mean, _ = torch.ops.aten.native_group_norm(x, None, None, 2, 4, 9, 2, 1e-5)
        return (y, mean * 2 if self.reads else mean)


@pytest.mark.parametrize("reads", [True, False])
def test_a_missing_result_names_its_operator(reads: bool) -> None:
    with pytest.raises(ImportFailure) as error:
        spirloom.torch.export(Statistics(reads), (torch.randn(2, 4, 3, 3),))
    assert "a result of aten.native_group_norm that Spirloom does not compute" in str(error.value)
    assert "test_control_flow.py" in str(error.value)
