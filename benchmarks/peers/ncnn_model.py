"""ncnn as a peer on the same device: its environment, model conversion, and runs.

ncnn and its converter pnnx are installed from PyPI into .venv-ncnn, only with --ncnn.
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
    """The Python interpreter with ncnn; creates its environment if it does not exist."""
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
    """A network as ncnn's two files; the weights (.bin) are next to `param`."""

    param: Path

    def run(
        self,
        interpreter: Path,
        inputs: Path,
        logits: Path,
        repeat: int,
        environment: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """The times of a process. Raises BenchmarkFailed if its result differs from PyTorch's."""
        output = self.param.with_suffix(".npy")
        found = run_json(
            [interpreter, ROOT / "benchmarks" / "peers" / "ncnn_run.py", self.param, inputs,
             output, "--repeat", str(repeat)],
            environment,
        )  # fmt: skip
        expected = np.load(logits)[:1]
        error = float(np.linalg.norm(np.load(output) - expected) / np.linalg.norm(expected))
        if not error < TOLERANCE:
            raise BenchmarkFailed(
                f"ncnn's result of {self.param.name} differs from PyTorch's: relative error "
                f"{error:.1e}, limit {TOLERANCE:.0e}"
            )
        return found


def convert(interpreter: Path, onnx: Path, folder: Path) -> NcnnModel:
    """Converts an ONNX file with one image input to ncnn's format with pnnx."""
    model = folder / onnx.name
    if not model.exists():
        model.symlink_to(onnx.resolve())
        run([interpreter.with_name("pnnx"), model, "inputshape=[1,3,224,224]", "fp16=0"])
    return NcnnModel(model.with_name(f"{model.stem}.ncnn.param"))
