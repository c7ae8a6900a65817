"""ncnn, the peer on the same device: its environment, its form of a network, its runs.

ncnn and its converter pnnx come from PyPI, into .venv-ncnn, and only if asked for: nothing else
needs them.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.context import ROOT, BenchmarkFailed, run, run_json

ENVIRONMENT = ROOT / ".venv-ncnn"
PACKAGES = ("ncnn==1.0.20261020", "pnnx==20261020")
TOLERANCE = 1e-3


def install() -> Path:
    """The Python that has ncnn; makes its environment if there is none."""
    interpreter = ENVIRONMENT / "bin" / "python3"
    done = ENVIRONMENT / "-".join(PACKAGES).replace("==", "-")
    if not done.exists():
        make: list[str | Path] = [sys.executable, "-m", "venv", "--clear"]
        subprocess.run([*make, "--system-site-packages", ENVIRONMENT], check=True)
        pip: list[str | Path] = [interpreter, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--no-deps", *PACKAGES], check=True)
        subprocess.run([*pip, "portalocker", "tqdm", "requests"], check=True)
        done.touch()
    return interpreter


@dataclass(frozen=True, slots=True)
class NcnnModel:
    """A network as ncnn's two files; the weights (.bin) lie beside `param`."""

    param: Path

    def run(
        self,
        interpreter: Path,
        inputs: Path,
        logits: Path,
        repeat: int,
        environment: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """The times of a process. Raises BenchmarkFailed where it computes something else."""
        output = self.param.with_suffix(".npy")
        found = run_json(
            [interpreter, ROOT / "benchmarks" / "peers" / "ncnn_run.py", self.param, inputs,
             output, "--repeat", str(repeat)],
            environment,
        )  # fmt: skip
        expected = np.load(logits)[:1]
        error = float(np.linalg.norm(np.load(output) - expected) / np.linalg.norm(expected))
        if not error < TOLERANCE:
            raise BenchmarkFailed(f"ncnn's {self.param.name} is {error:.1e} off PyTorch's result")
        return found


def convert(interpreter: Path, onnx: Path, folder: Path) -> NcnnModel:
    """ncnn's form of an ONNX file with one image as its input, by ncnn's own converter."""
    model = folder / onnx.name
    if not model.exists():
        model.symlink_to(onnx.resolve())
        run([interpreter.with_name("pnnx"), model, "inputshape=[1,3,224,224]", "fp16=0"])
    return NcnnModel(model.with_name(f"{model.stem}.ncnn.param"))
