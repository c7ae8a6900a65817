"""Peak memory of loading a program: there is no copy of its weights on the host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.executorch.partitioned import PartitionedProgram
from tests.executorch.programs import Lowered
from tests.executorch.test_runner import RUNNER

FEATURES = 2048
# Prints the peak of the runner's memory for a program. A process of its own: the peak of a child is
# at least that of the process that starts it.
MEASURED = """
import os, subprocess, sys

runner = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(runner.pid, 0)
assert status == 0
print(usage.ru_maxrss * 1024)
"""


class Layers(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, count: int) -> None:
        super().__init__()
        layers = (torch.nn.Linear(FEATURES, FEATURES, bias=False) for _ in range(count))
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def peak(program: Path) -> int:
    line = [sys.executable, "-c", MEASURED, str(RUNNER), f"--model_path={program}"]
    return int(subprocess.run(line, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("kind", [Lowered, PartitionedProgram])
def test_weights_are_not_copied_on_the_host(kind: type[Lowered], tmp_path: Path) -> None:
    """ExecuTorch maps the file. Its pages are released while the weights are uploaded, to the
    memory of the same process on a CPU device."""
    sizes, peaks = [], []
    for layers in (1, 9):
        program = tmp_path / f"{layers}.pte"
        program.write_bytes(kind(Layers(layers), (torch.randn(1, FEATURES),)).buffer)
        sizes.append(program.stat().st_size)
        peaks.append(peak(program))
    weights = sizes[1] - sizes[0]
    assert weights > 100e6
    assert weights < peaks[1] - peaks[0] < 1.3 * weights
