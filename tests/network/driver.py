"""Imports a network and runs it with the tools that users have."""

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
    """A tool ended with an error. `said` is what it printed."""

    def __init__(self, command: str, code: int, said: str) -> None:
        super().__init__(f"{command}\nends with exit code {code}:\n{said}")
        self.said = said


@dataclass(frozen=True, slots=True)
class Tools:
    spirloom: Path
    run: Path


@dataclass(frozen=True, slots=True)
class Measured:
    """`error` is ‖y − r‖ / ‖r‖ against PyTorch; `stats` is what spirloom-run says."""

    error: float
    stats: dict[str, object]


def call(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = " ".join(str(part) for part in command)
        said = f"{done.stdout}{done.stderr}".strip()
        raise StepFailed(words, done.returncode, said)


def import_network(tools: Tools, onnx: Path, batch: int | str, dtype: str, folder: Path) -> Path:
    """The graph file for a batch, or for all between bounds, such as 1..3."""
    model = folder / f"batch{batch}_{dtype}.slg"
    command: list[str | Path] = [tools.spirloom, "import", onnx, "-o", model, "--dim"]
    command.append(f"batch={batch}")
    call([*command, "--fp16"] if dtype == "f16" else command)
    return model


def relative_error(y: npt.NDArray[np.float32], r: npt.NDArray[np.float32]) -> float:
    """Infinite for a wrong shape or a result that is not finite."""
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
        # Token numbers are int64 in PyTorch and int32 in the graph.
        narrow = values.astype(np.int32) if values.dtype == np.int64 else values
        np.save(folder / f"{name}.npy", narrow[:batch])
        command += ["--input", f"{name}={folder / name}.npy"]
    call([*command, "--output-dir", folder, "--storage", storage, "--json", stats])
    logits = np.load(folder / "logits.npy")
    return Measured(relative_error(logits, exported.logits[:batch]), json.loads(stats.read_text()))
