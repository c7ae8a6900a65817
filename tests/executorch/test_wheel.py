"""The wheel with an installed ExecuTorch, in another directory. Builds the wheel unless --wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
import torch

from tests.executorch.partitioned import PartitionedProgram
from tests.executorch.programs import Lowered
from tests.executorch.test_networks import Net

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys
import torch
import spirloom.executorch
from executorch.runtime import Runtime

directory = sys.argv[1]
x, expected = torch.load(f"{directory}/values.pt")
for name in ("partitioned", "vulkan"):
    method = Runtime.get().load_program(f"{directory}/{name}.pte").load_method("forward")
    found, = method.execute([x])
    print(name, bool((found - expected).abs().max() < 1e-5))
print(spirloom.executorch.__file__)
"""


@pytest.fixture(scope="module")
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the wheel and this environment's ExecuTorch."""
    wheel: Path | None = request.config.getoption("--wheel")
    if wheel is None:
        dist = tmp_path_factory.mktemp("dist")
        command = ["/usr/bin/python3", "tools/wheel.py", "--out", str(dist)]
        subprocess.run(command, cwd=ROOT, check=True)
        wheel = next(dist.glob("*.whl"))
    directory = tmp_path_factory.mktemp("fresh") / "venv"
    venv.EnvBuilder().create(directory)
    python = directory / "bin/python3"
    site = next(directory.glob("lib/python3*/site-packages"))
    (site / "executorch.pth").write_text(f"{Path(torch.__file__).parents[1]}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, str(wheel.resolve())], check=True)
    return python


def test_both_kinds_of_delegates_run(python: Path, tmp_path: Path) -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    for name, kind in (("partitioned", PartitionedProgram), ("vulkan", Lowered)):
        (tmp_path / f"{name}.pte").write_bytes(kind(net, (x,)).buffer)
    with torch.no_grad():
        torch.save((x, net(x)), tmp_path / "values.pt")
    outside = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SPIRLOOM_"))}
    done = subprocess.run(
        [str(python), "-c", RUN, str(tmp_path)],
        cwd=tmp_path, env=outside, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[:2] == ["partitioned True", "vulkan True"], done.stdout + done.stderr
    assert Path(lines[2]).is_relative_to(python.parents[1])
