"""Options and fixtures of the tests on a driver with bugs: the layer's environment."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import spirloom
from spirloom.runtime.native import LIBRARY_VARIABLE, SHADERS_VARIABLE

LAYER = "VK_LAYER_SPIRLOOM_faults"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--library", type=Path, help="libspirloom (default: found by the package)")
    group.addoption("--shaders", type=Path, help="its shaders (default: found by the package)")
    group.addoption("--fault-layer", type=Path, help="directory of the layer's manifest")


def pytest_configure(config: pytest.Config) -> None:
    for variable, option in ((LIBRARY_VARIABLE, "--library"), (SHADERS_VARIABLE, "--shaders")):
        if path := config.getoption(option):
            os.environ[variable] = str(path)


@dataclass(frozen=True)
class Driver:
    """A driver with bugs in the pipelines of `faults`: digest → kind. Programs have their own cache
    directory.
    """

    layer: Path
    directory: Path
    faults: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """The environment of a program on this driver."""
        root = Path(__file__).resolve().parents[2]
        faults = ",".join(f"{digest}={kind}" for digest, kind in self.faults.items())
        return {
            **os.environ,
            "VK_LAYER_PATH": str(self.layer),
            "VK_INSTANCE_LAYERS": LAYER,
            "SPIRLOOM_LAYER_FAULTS": faults,
            "XDG_CACHE_HOME": str(self.directory),
            "PYTHONPATH": os.pathsep.join((str(root), str(root / "frontend"))),
        }

    def run(self, *arguments: str, seconds: float = 300, log: Path | None = None) -> Ended:
        """Runs `spirloom` with these arguments. `log`: the file for the digests of pipelines."""
        variables = {} if log is None else {"SPIRLOOM_LAYER_LOG": str(log)}
        done = subprocess.run(
            [sys.executable, "-m", "spirloom.cli", *arguments],
            env=self.environment() | variables,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that ended."""

    code: int
    output: str
    errors: str


@pytest.fixture
def layer(request: pytest.FixtureRequest) -> Path:
    path = request.config.getoption("--fault-layer")
    if path is None:
        pytest.skip("Name the directory of the layer with --fault-layer.")
    if not spirloom.is_available():
        pytest.skip("No Vulkan device is available.")
    return Path(path)


@pytest.fixture
def driver(layer: Path, tmp_path: Path) -> Driver:
    """A driver without bugs."""
    return Driver(layer, tmp_path)
