"""The programs under test, and small models for them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True, slots=True)
class Program:
    path: Path

    def __call__(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command: Sequence[str | Path] = (self.path, *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@dataclass(frozen=True, slots=True)
class AddModel:
    """The graph file and a directory with valid inputs."""

    directory: Path
    model: Path

    @property
    def good(self) -> list[str | Path]:
        """The arguments of a successful run."""
        inputs = [f"{name}={self.directory / name}.npy" for name in ("a", "b")]
        return [self.model, "--input", inputs[0], "--input", inputs[1]]

    def with_a(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> list[str | Path]:
        """The same run with another array as `a`."""
        np.save(self.directory / "a.npy", array)
        return self.good


@dataclass(frozen=True, slots=True)
class ReluModel:
    """The graph file and its input."""

    path: Path
    x: Path

    def run(self, program: Program, *options: str | Path) -> list[float]:
        """Runs the program and returns its output."""
        directory = self.path.parent
        done = program(self.path, "--input", f"x={self.x}", "--output-dir", directory, *options)
        assert done.returncode == 0, done.stderr
        y: list[float] = np.load(directory / "y.npy").tolist()
        return y

    def rejected(self, program: Program, *options: str | Path) -> str:
        """The message of a run that fails with invalid usage."""
        done = program(self.path, "--input", f"x={self.x}", *options)
        assert done.returncode == 2, (done.stdout, done.stderr)
        return done.stderr


@dataclass(frozen=True, slots=True)
class Packs:
    """Library files with a relu that computes -max(x, 0)."""

    overriding: Path  # overrides other libraries
    clashing: Path
    compressed: Path  # equals `clashing`, with compressed modules
