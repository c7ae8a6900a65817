"""Imports and runs a network with the command-line tools."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.network.export import Exported

TOLERANCE = {"f32": 1e-4, "f16": 2e-2}


class StepFailed(Exception):
    """A tool failed. `output` is its standard output and error."""

    def __init__(self, command: str, code: int, output: str) -> None:
        super().__init__(f"{command}\nfailed with exit code {code}:\n{output}")
        self.output = output


@dataclass(frozen=True, slots=True)
class Tools:
    spirloom: Path
    run: Path


@dataclass(frozen=True, slots=True)
class Measured:
    """`error` is ‖y − r‖ / ‖r‖ relative to PyTorch; `stats` is the JSON of spirloom-run."""

    error: float
    stats: dict[str, object]


def call(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = " ".join(str(part) for part in command)
        raise StepFailed(words, done.returncode, f"{done.stdout}{done.stderr}".strip())


def import_network(tools: Tools, onnx: Path, batch: int | str, dtype: str, folder: Path) -> Path:
    """Imports the network for a batch size, or for a range of batch sizes such as 1..3."""
    model = folder / f"batch{batch}_{dtype}.slg"
    command: list[str | Path] = [tools.spirloom, "import", onnx, "-o", model, "--dim"]
    command.append(f"batch={batch}")
    call([*command, "--fp16"] if dtype == "f16" else command)
    return model


def relative_error(y: npt.NDArray[np.float32], r: npt.NDArray[np.float32]) -> float:
    """The relative error; infinite for a wrong shape or a non-finite result."""
    if y.shape != r.shape or not np.isfinite(y).all():
        return float("inf")
    return float(np.linalg.norm(y.astype(np.float64) - r) / np.linalg.norm(r.astype(np.float64)))


def run_network(
    tools: Tools,
    model: Path,
    exported: Exported,
    batch: int,
    storage: str,
    folder: Path,
    repeat: int = 0,
) -> Measured:
    stats = folder / "stats.json"
    command: list[str | Path] = [tools.run, model, "--repeat", str(repeat)]
    for name, values in exported.inputs.items():
        # Token ids are int64 in PyTorch and int32 in the graph.
        narrow = values.astype(np.int32) if values.dtype == np.int64 else values
        np.save(folder / f"{name}.npy", narrow[:batch])
        command += ["--input", f"{name}={folder / name}.npy"]
    call([*command, "--output-dir", folder, "--storage", storage, "--json", stats])
    logits = np.load(folder / "logits.npy")
    return Measured(relative_error(logits, exported.logits[:batch]), json.loads(stats.read_text()))
