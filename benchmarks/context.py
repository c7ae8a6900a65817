"""What every benchmark is given: where the programs are, and how often to run them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import cores

ROOT = Path(__file__).resolve().parent.parent
PRODUCTS = ("matmul_512", "matmul_1024")
NETWORKS = ("squeezenet1_1", "mobilenet_v2", "resnet18", "efficientnet_b0",
            "shufflenet_v2_x1_0", "mobilenet_v3_large", "googlenet", "resnet50")  # fmt: skip


class BenchmarkFailed(Exception):
    """A program ended with an error; the message has its last words."""


@dataclass(frozen=True, slots=True)
class Context:
    """`scratch` is emptied afterwards. `ncnn` is the Python that has ncnn, if it is to be timed;
    `ggml` says whether ggml is."""

    build: Path
    scratch: Path
    times: int = 3  # processes for every figure, taken in turns
    repeat: int = 10  # timed runs in a process
    min_time: float = 0.2  # seconds for each call in a process of spirloom-kernels
    networks: tuple[str, ...] = NETWORKS
    products: tuple[str, ...] = PRODUCTS
    ncnn: Path | None = None
    ggml: bool = False

    def program(self, name: str) -> Path:
        """A program of the build."""
        return self.build / "bin" / name


@dataclass(frozen=True, slots=True)
class Timing:
    """The least time of a piece of work, in seconds; `cpu` is that of all threads.

    Other work on the machine adds to `wall` at once, to `cpu` hardly.
    """

    wall: float
    cpu: float

    def least(self, other: Timing) -> Timing:
        """The better of two measurements."""
        return Timing(min(self.wall, other.wall), min(self.cpu, other.cpu))

    def rate(self, work: float) -> Rate:
        """Work per second; by CPU time as if all processors did nothing else."""
        return Rate(work / self.wall, work / self.cpu * cores())


@dataclass(frozen=True, slots=True)
class Rate:
    """Work per second, by the clock and by CPU time."""

    wall: float
    cpu: float

    def of(self, ceiling: Rate) -> Rate:
        """The share of what is possible."""
        return Rate(self.wall / ceiling.wall, self.cpu / ceiling.cpu)


def run(command: list[str | Path], environment: dict[str, str] | None = None) -> str:
    """What the command prints. Raises BenchmarkFailed."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment
    )
    if done.returncode != 0:
        words = " ".join(str(part) for part in command)
        last = "\n".join(f"{done.stdout}{done.stderr}".strip().splitlines()[-5:])
        raise BenchmarkFailed(f"{words}\nends with exit code {done.returncode}:\n{last}")
    return done.stdout


def run_json(
    command: list[str | Path], environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object on the last line that the command prints."""
    found: dict[str, Any] = json.loads(run(command, environment).splitlines()[-1])
    return found


def python() -> Path:
    """The interpreter of the project's environment."""
    return Path(sys.executable)
