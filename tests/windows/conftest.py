"""Runs the programs for Windows with Wine, on a virtual X display and with the host's Vulkan."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np
import numpy.typing as npt
import pytest

ROOT = Path(__file__).resolve().parents[2]
WINE = Path("/usr/lib/wine")
TIMEOUT_S = 300


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--windows-dir", type=Path, default=ROOT / "build/windows")
    group.addoption("--wheel-dir", type=Path, default=ROOT / "build/windows-wheel")
    group.addoption("--release-dir", type=Path, default=ROOT / "build/release")
    group.addoption(
        "--case-parts",
        type=int,
        default=120,
        help="run one of this number of parts of the operator cases (default: 120)",
    )


@dataclass(frozen=True, slots=True)
class Windows:
    """Programs of the Windows build and an environment of Wine for them."""

    programs: Path
    environment: dict[str, str]

    def command(self, program: str, *arguments: object) -> list[str]:
        """The command line. Paths become those of drive Z:, the host's file system."""
        words = [f"Z:{word}" if isinstance(word, PurePath) else str(word) for word in arguments]
        return [str(WINE / "wine64"), str(self.programs / f"{program}.exe"), *words]

    def run(
        self, program: str, *arguments: object, timeout: float = TIMEOUT_S, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program; `variables` are environment variables."""
        return subprocess.run(
            self.command(program, *arguments),
            capture_output=True,
            encoding="utf-8",
            env=self.environment | variables,
            cwd=self.programs,
            timeout=timeout,
        )

    @property
    def cache(self) -> Path:
        """%LOCALAPPDATA%\\spirloom\\cache."""
        users = Path(self.environment["WINEPREFIX"]) / "drive_c/users"
        (data,) = users.glob("*/AppData/Local")
        return data / "spirloom/cache"


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """A virtual X display: Wine loads its Vulkan driver with that of the display."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-nolisten", "tcp", "-screen", "0", "640x480x24"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    ) as server:
        os.close(writing)
        with os.fdopen(reading, encoding="ascii") as number:
            name = f":{number.readline().strip()}"
        assert name != ":", "Xvfb did not start."
        yield name
        server.terminate()


@pytest.fixture(scope="session")
def windows(
    request: pytest.FixtureRequest, display: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Windows]:
    """The programs, with a new Windows directory."""
    environment = os.environ | {
        "DISPLAY": display,
        "WINEPREFIX": str(tmp_path_factory.mktemp("wine")),
        "WINEDEBUG": "-all",
        # No installers; no debugger, which a crashed program would wait for.
        "WINEDLLOVERRIDES": "mscoree=;mshtml=;winemenubuilder.exe=;winedbg.exe=",
    }
    create = [str(WINE / "wine64"), "wineboot", "--init"]
    subprocess.run(create, env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)
    yield Windows(request.config.getoption("--windows-dir") / "bin", environment)
    subprocess.run([*sorted(WINE.glob("wineserver*"))[:1], "-k"], env=environment)


@pytest.fixture(scope="session")
def release(request: pytest.FixtureRequest) -> Path:
    """The build directory of the host."""
    directory: Path = request.config.getoption("--release-dir")
    return directory


@pytest.fixture(scope="session")
def wheel(request: pytest.FixtureRequest) -> Path:
    """The wheel for Windows."""
    directory: Path = request.config.getoption("--wheel-dir")
    found = list(directory.glob("spirloom-*-win_amd64.whl"))
    if len(found) != 1:
        pytest.fail(f"{directory} has {len(found)} wheels for Windows. Run ./dev test-windows.")
    return found[0]


def on_host(program: Path, *arguments: object, directory: Path = ROOT, **variables: str) -> str:
    """The output of a program of the host; `variables` are environment variables."""
    done = subprocess.run(
        [str(program), *map(str, arguments)],
        check=True, cwd=directory, capture_output=True, encoding="utf-8",
        env=os.environ | variables,
    )  # fmt: skip
    return done.stdout


@dataclass(frozen=True, slots=True)
class Digits:
    """examples/digits with all held-out scans."""

    model: Path
    input: Path
    scans: Path  # the integers that `input` is made of
    logits: npt.NDArray[np.float32]  # of PyTorch


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Digits:
    source = ROOT / "examples/digits"
    directory = tmp_path_factory.mktemp("digits")
    scans = np.load(source / "images.npy")
    np.save(directory / "images.npy", scans.astype(np.float32) / np.float32(16))
    model = directory / "digits.slg"
    command = ["import", source / "digits.onnx", "-o", model, "--dim", f"batch={len(scans)}"]
    subprocess.run(
        [str(ROOT / ".venv/bin/spirloom"), *map(str, command)], check=True, capture_output=True
    )
    return Digits(
        model,
        directory / "images.npy",
        source / "images.npy",
        np.load(source / "logits.npy"),
    )
