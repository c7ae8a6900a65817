"""A custom operator of PyTorch in an ExecuTorch program, computed by its kernel in the delegate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from spirloom.cli import main
from torch.export import Dim

from tests.executorch.partitioned import PartitionedProgram
from tests.torch.test_own_kernel import Model, kernels, project  # noqa: F401  fixtures

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import os, sys
import torch, spirloom.executorch
from executorch.runtime import Runtime
os.environ["SPIRLOOM_SHADER_LIBRARIES"] = "/nonexistent.slpack"
program = Runtime.get().load_program(sys.argv[1])
try:
    program.load_method("forward")
except RuntimeError:
    assert "/nonexistent.slpack" in spirloom.executorch.last_error()
else:
    raise AssertionError("a missing shader library is not an error")
os.environ["SPIRLOOM_SHADER_LIBRARIES"] = sys.argv[2]
method = program.load_method("forward")
for x, expected in torch.load(sys.argv[3]):
    torch.testing.assert_close(method.execute([x])[0], expected, rtol=1e-5, atol=1e-5)
"""


def test_a_custom_operator(project: Path, kernels: Path, tmp_path: Path) -> None:  # noqa: F811
    torch.manual_seed(3)
    model, specs = Model().eval(), project / "op_specs"
    shapes = ({1: Dim("length", min=2, max=40)},)
    program = PartitionedProgram(model, (torch.randn(2, 7, 6),), shapes, spec_dirs=[specs])
    assert (program.delegates, program.kernels) == (1, [])
    path, values = tmp_path / "net.pte", tmp_path / "values.pt"
    path.write_bytes(program.buffer)
    with torch.no_grad():
        inputs = [torch.randn(2, size, 6) for size in (7, 40, 2)]
        torch.save([(x, model(x)) for x in inputs], values)
    command = [sys.executable, "-c", RUN, str(path), str(kernels), str(values)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    imported = ["import", str(path), "-o", str(tmp_path / "net.slg")]
    assert main([*imported, "--spec-dir", str(specs)]) == 0
    assert main(imported) == 1
