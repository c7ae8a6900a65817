"""The programs under test, and a small graph for them."""

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
    """The graph file and a folder with good inputs in it."""

    folder: Path
    model: Path

    @property
    def good(self) -> list[str | Path]:
        """The arguments of a run that works."""
        inputs = [f"{name}={self.folder / name}.npy" for name in ("a", "b")]
        return [self.model, "--input", inputs[0], "--input", inputs[1]]

    def with_a(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> list[str | Path]:
        """The same run with another array as `a`."""
        np.save(self.folder / "a.npy", array)
        return self.good


@dataclass(frozen=True, slots=True)
class ReluModel:
    """The graph file and its input."""

    path: Path
    x: Path

    def run(self, program: Program, *options: str | Path) -> list[float]:
        """What the program computes."""
        folder = self.path.parent
        done = program(self.path, "--input", f"x={self.x}", "--output-dir", folder, *options)
        assert done.returncode == 0, done.stderr
        y: list[float] = np.load(folder / "y.npy").tolist()
        return y

    def refused(self, program: Program, *options: str | Path) -> str:
        """The message of a run that must fail for what the user named."""
        done = program(self.path, "--input", f"x={self.x}", *options)
        assert done.returncode == 2, (done.stdout, done.stderr)
        return done.stderr


@dataclass(frozen=True, slots=True)
class Packs:
    """Files with a relu that computes -max(x, 0)."""

    overriding: Path  # says that it overrides others
    clashing: Path
    compressed: Path  # the same as `clashing`, with compressed modules
