"""Settings shared by all benchmarks: program paths and repetition counts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MATMULS = ("matmul_512", "matmul_1024")
NETWORKS = ("squeezenet1_1", "mobilenet_v2", "resnet18", "efficientnet_b0",
            "shufflenet_v2_x1_0", "mobilenet_v3_large", "googlenet", "resnet50")  # fmt: skip


class BenchmarkFailed(Exception):
    """A program failed; the message contains the end of its output."""


@dataclass(frozen=True, slots=True)
class Context:
    """`scratch` is a temporary directory. `ncnn` is the Python interpreter of an environment with
    ncnn, or None if ncnn is not timed; `ggml` is whether ggml is timed."""

    build: Path
    scratch: Path
    times: int = 3  # processes per figure, interleaved
    repeat: int = 10  # timed runs in a process
    min_time: float = 0.2  # seconds per call in a process of spirloom-kernels
    networks: tuple[str, ...] = NETWORKS
    matmuls: tuple[str, ...] = MATMULS
    ncnn: Path | None = None
    ggml: bool = False

    def program(self, name: str) -> Path:
        """The path of a program in the build tree."""
        return self.build / "bin" / name


@dataclass(frozen=True, slots=True)
class Timing:
    """The minimum time of a workload, in seconds; `cpu` is summed over all threads.

    Other load on the machine increases `wall` directly and `cpu` only slightly.
    """

    wall: float
    cpu: float

    def min_of(self, other: Timing) -> Timing:
        """The minimum of two measurements, per clock."""
        return Timing(min(self.wall, other.wall), min(self.cpu, other.cpu))

    def rate(self, work: float, cores: int) -> Rate:
        """Work per second; `cpu` is scaled to all cores of the machine that was measured."""
        return Rate(work / self.wall, work / self.cpu * cores)


@dataclass(frozen=True, slots=True)
class Rate:
    """Throughput in work per second, by wall time and by CPU time."""

    wall: float
    cpu: float

    def of(self, peak: Rate) -> Rate:
        """The fraction of the peak."""
        return Rate(self.wall / peak.wall, self.cpu / peak.cpu)


def run(command: list[str | Path], environment: dict[str, str] | None = None) -> str:
    """Runs the command and returns its standard output. Raises BenchmarkFailed."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    if done.returncode != 0:
        words = " ".join(str(part) for part in command)
        last = "\n".join(f"{done.stdout}{done.stderr}".strip().splitlines()[-5:])
        raise BenchmarkFailed(f"{words}\nfailed with exit code {done.returncode}:\n{last}")
    return done.stdout


def run_json(
    command: list[str | Path], environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Runs the command and returns the JSON object on its last output line."""
    found: dict[str, Any] = json.loads(run(command, environment).splitlines()[-1])
    return found


def python() -> Path:
    """The Python interpreter of the project's environment."""
    return Path(sys.executable)
