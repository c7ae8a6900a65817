"""`spirloom partition` of exported programs, without importing torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import spirloom.torch
import torch
from torch import Tensor, nn

from tests.torch.archives import needs_archives

# Importing torch fails in this process.
PROGRAM = """
import sys
sys.modules["torch"] = None
from spirloom.cli import main
sys.exit(main(sys.argv[1:]))
"""


class Found(nn.Module):  # type: ignore[misc]
    """Scales features by the mean index of the positive ones."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.before(x)
        indices = torch.nonzero(y > 0)
        return self.after(y * indices.to(torch.float32).mean(0).sum())


def saved(module: nn.Module, batch: bool, directory: Path) -> str:
    sizes = ({0: torch.export.Dim("batch", min=2, max=6)},) if batch else None
    x = torch.randn(4, 3, 24, 24)
    exported = torch.export.export(module.eval(), (x,), dynamic_shapes=sizes)
    path = directory / "net.pt2"
    torch.export.save(spirloom.torch.decompose(exported), path)
    return str(path)


def partition(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, "partition", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_archives
def test_a_partitioned_program(tmp_path: Path) -> None:
    path = saved(Found(), False, tmp_path)
    done = partition(path, "--json")
    facts = json.loads(done.stdout)
    assert (done.returncode, done.stderr, facts["full"]) == (0, "", False)
    assert [segment["placement"] for segment in facts["segments"]] == ["device", "host", "device"]
    (node,) = (n for n in facts["nodes"] if n["op"] == "aten.nonzero")
    assert node["reason"].startswith("its output size depends on the data")
    modules = {n["op"]: n["module"] for n in facts["nodes"] if n["placement"] == "device"}
    assert modules["aten.conv2d"] == "after"
    done = partition(path, "--full")
    assert done.returncode == 1
    assert done.stderr.startswith(f"spirloom: error: --full: {path}: ")


@needs_archives
@pytest.mark.parametrize("batch", [False, True])
def test_a_fully_supported_program(batch: bool, tmp_path: Path) -> None:
    path = saved(nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()), batch, tmp_path)
    done = partition(path, "--full")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"{path}: all 2 nodes run on the device."


def test_options_of_onnx_models(tmp_path: Path) -> None:
    path = saved(nn.ReLU(), False, tmp_path)
    done = partition(path, "--shape", "x=1,2")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--shape is for ONNX models" in done.stderr
