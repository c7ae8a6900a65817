"""Lowering on a machine that has neither the backend library nor Vulkan."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch

from tests.executorch.programs import load, run

ROOT = Path(__file__).resolve().parents[2]
LOWER = """
import sys
from pathlib import Path
exists = Path.exists
Path.exists = lambda path: path.name != "libspirloom_executorch.so" and exists(path)
import torch, spirloom.executorch
from spirloom.runtime.errors import Unavailable
from executorch.exir import to_edge_transform_and_lower
torch.manual_seed(0)
net, x = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU()).eval(), torch.randn(3, 6)
partitioner = [spirloom.executorch.SpirloomPartitioner()]
edge = to_edge_transform_and_lower(torch.export.export(net, (x,)), partitioner=partitioner)
Path(sys.argv[1], "net.pte").write_bytes(bytes(edge.to_executorch().buffer))
torch.save((x, net(x).detach()), Path(sys.argv[1], "values.pt"))
assert "libspirloom_executorch.so" not in Path("/proc/self/maps").read_text()
try:
    spirloom.executorch.register()
except Unavailable as error:
    print(error)
"""


def test_programs_are_lowered_without_the_library(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPIRLOOM_")}
    # No Vulkan driver: any attempt to create a device fails.
    environment |= {"VK_DRIVER_FILES": "/nonexistent.json", "VK_ICD_FILENAMES": "/nonexistent.json"}
    command = [sys.executable, "-c", LOWER, str(tmp_path)]
    found = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert "libspirloom_executorch.so was not found" in found.stdout
    x, expected = torch.load(tmp_path / "values.pt")
    (y,) = run(load((tmp_path / "net.pte").read_bytes()), (x,))
    torch.testing.assert_close(y, expected)
