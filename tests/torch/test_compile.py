"""spirloom.torch.compile and torch.compile(backend="spirloom") compared with eager PyTorch."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import spirloom.torch
import torch
from spirloom.partition import Placement
from spirloom.torch import backend
from spirloom.torch.compiled import reset_warning
from torch import nn
from torch.torch_version import TorchVersion

from tests.torch.compiled import BOTH, Compile, by_dynamo, by_export, check, on_device
from tests.torch.partitioned_networks import CASES, make_network

pytestmark = pytest.mark.usefixtures("inference")


@pytest.mark.parametrize("name", CASES)
@BOTH
def test_partitioned_networks(compiled: Compile, name: str) -> None:
    module, args = make_network(name)
    run = compiled(module, *args)
    for _ in range(2):
        check(run(*args), module(*args))
    assert on_device(run, "aten.linear") + on_device(run, "aten.conv2d") > 0
    other = tuple(x + 0.1 if x.is_floating_point() else x for x in args)
    check(run(*other), module(*other))


def test_unknown_options_are_refused() -> None:
    run = torch.compile(nn.Linear(4, 4), backend="spirloom", options={"fp_16": True})
    with pytest.raises(
        Exception, match="Unknown option 'fp_16' of torch.compile. Did you mean fp16"
    ):
        run(torch.ones(1, 4))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x,
        pytest.param(
            torch.Tensor.item,
            marks=pytest.mark.skipif(
                TorchVersion(torch.__version__) < "2.7", reason="torch's own backends also fail."
            ),
        ),
    ],
)
def test_branches_on_tensor_values_break_the_graph(read: Callable[..., Any]) -> None:
    """torch.export refuses data-dependent branches; Dynamo continues after a graph break."""

    class Breaks(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.first(x)
            scale = read(h.abs().max())
            return self.last(h) * scale if scale > 1 else self.last(-h)

    module = Breaks().eval()
    run = by_dynamo(module)
    for x in (torch.randn(8, 32), torch.randn(8, 32) * 1e-3):
        check(run(x), module(x))
    assert on_device(run, "aten.linear") >= 2


class Counter(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)
        self.register_buffer("mean", torch.zeros(32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.layer(x)
        self.mean.mul_(0.9).add_(h.mean(0), alpha=0.1)
        return h - self.mean


@BOTH
def test_written_buffers(compiled: Compile) -> None:
    module, x = Counter().eval(), torch.randn(8, 32)
    other = copy.deepcopy(module)
    run = compiled(module, x)
    for i in range(4):
        check(run(x * i), other(x * i))
        check(module.mean, other.mean)
    module.mean.zero_()
    other.mean.zero_()
    check(run(x), other(x))


@BOTH
def test_written_inputs(compiled: Compile) -> None:
    class Writes(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.add_(1)
            return self.layer(x)

    module, x = Writes().eval(), torch.randn(8, 32)
    run = compiled(module, x.clone())
    mine, other = x.clone(), x.clone()
    check(run(mine), module(other))
    check(mine, other)


@BOTH
def test_weights_that_change_are_uploaded_again(compiled: Compile) -> None:
    module, x = nn.Sequential(nn.Linear(32, 32), nn.ReLU()).eval(), torch.randn(8, 32)
    run = compiled(module, x)
    check(run(x), module(x))
    for _ in range(4):
        module[0].weight.mul_(2)
        check(run(x), module(x))
    module[0].weight.data = torch.randn(32, 32)
    check(run(x), module(x))


def test_weights_are_uploaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls after the first load no model and pass no weights."""
    module, x = nn.Sequential(nn.Linear(32, 32), nn.ReLU()).eval(), torch.randn(8, 32)
    run = by_dynamo(module)
    run(x)
    (report,) = backend.reports()
    assert [len(part.inputs) for part in report.segments] == [1]
    monkeypatch.setattr(spirloom.Runtime, "load", None)
    check(run(x), module(x))


def test_modules_of_one_class_have_their_own_weights() -> None:
    class Layer(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.layer(x))

    layers, x = [Layer().eval() for _ in range(3)], torch.randn(8, 32)
    runs = [torch.compile(layer, backend="spirloom") for layer in layers]
    for _ in range(2):
        for run, layer in zip(runs, layers, strict=True):
            check(run(x), layer(x))


@BOTH
def test_an_index_out_of_range_raises_torchs_error(compiled: Compile) -> None:
    module = nn.Sequential(nn.Embedding(10, 32), nn.Linear(32, 32)).eval()
    run = compiled(module, torch.arange(10))
    check(run(torch.arange(10)), module(torch.arange(10)))
    with pytest.raises(IndexError):
        run(torch.arange(10) + 1)


def test_values_out_of_range_of_the_device_run_in_torch() -> None:
    """The model refuses an int64 value out of range of int32, and torch computes the call."""

    class Looks(nn.Module):  # type: ignore[misc]
        def forward(self, n: torch.Tensor) -> torch.Tensor:
            return torch.where(n > 5, n, -n)

    module, n = Looks(), torch.arange(10)
    run = by_export(module, n)
    check(run(n), module(n))
    large = n + (1 << 40)
    check(run(large), module(large))


@BOTH
def test_training_runs_in_torch_and_warns_once(compiled: Compile) -> None:
    module, x = nn.Sequential(nn.Linear(32, 32), nn.ReLU()), torch.randn(8, 32)
    reset_warning()
    with torch.enable_grad(), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run = compiled(module, x)
        for _ in range(2):
            run(x).sum().backward()
    (message,) = [str(w.message) for w in seen if "Spirloom" in str(w.message)]
    assert "inference only" in message and "torch.no_grad()" in message
    assert module[0].weight.grad is not None and module[0].weight.grad.any()
    check(run(x), module(x))


def test_structures_and_keywords() -> None:
    class Structured(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x: torch.Tensor, *, also: Any, factor: float = 1.0) -> Any:
            return {"y": self.layer(x) * factor, "more": [also["z"] + 1, None, 3]}

    module, x = Structured().eval(), torch.randn(8, 32)
    run = by_export(module, x, also={"z": x}, factor=2.0)
    for factor in (2.0, 3.0, 2.0):
        wanted = module(x, also={"z": x}, factor=factor)
        given = run(x, factor=factor, also={"z": x})
        assert given.keys() == wanted.keys()
        check(given, wanted)
    assert run.layer is module.layer


def test_the_report_has_reasons_for_host_nodes() -> None:
    module, args = make_network("spectrum")
    report = by_export(module, *args).report
    assert [part.placement for part in report.segments] == [
        Placement.DEVICE,
        Placement.HOST,
        Placement.DEVICE,
    ]
    reasons = {node.op: node.reason for node in report.on_host}
    assert reasons["aten._fft_r2c"] == "the element type complex64 is not supported"
    assert reasons["aten._fft_c2r"] == "it reads 'mul', which is complex64"
    module, args = make_network("nonzero")
    reasons = {node.op: node.reason for node in by_export(module, *args).report.on_host}
    assert "depends on the data" in reasons["aten.nonzero"]


def test_the_entry_point_registers_the_backend(tmp_path: Path) -> None:
    """As with an installed package: nothing imports Spirloom before torch does."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    found = tmp_path / "spirloom-0.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: spirloom\nVersion: 0\n")
    lines = [f"[{group}]\n" + "".join(f"{n} = {p}\n" for n, p in points.items())
             for group, points in project["entry-points"].items()]  # fmt: skip
    (found / "entry_points.txt").write_text("".join(lines))
    code = (
        "import torch\n"
        "x = torch.randn(16)\n"
        "assert (torch.compile(torch.relu, backend='spirloom')(x) == torch.relu(x)).all()\n"
        "from spirloom.torch import backend\n"
        "print(len(backend.reports()))\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout == "1\n"
    assert "spirloom" in torch._dynamo.list_backends(exclude_tags=())
