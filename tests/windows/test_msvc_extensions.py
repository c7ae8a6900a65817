"""No extension of GCC: Clang compiles the sources for Windows and warns of what Microsoft's
compiler does not accept. A part of the files (tests/sample.py).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.sample import part

ROOT = Path(__file__).resolve().parents[2]
HEADERS = Path("/usr/x86_64-w64-mingw32/include")
GCC = Path("/usr/lib/gcc/x86_64-w64-mingw32")
DIRECTORIES = ("runtime", "tools/common", "tools/plan", "tools/spirloom-ops", "tools/spirloom-run")
LIBRARIES = ("vulkan", "vk_video", "nlohmann", "CLI", "flatbuffers", "xxhash.h", "zstd.h")
PARTS = 20
WARNINGS = (
    "all", "extra", "pedantic", "gnu", "vla", "microsoft", "format", "implicit-fallthrough",
    "shorten-64-to-32", "nonportable-include-path", "error",
)  # fmt: skip


def sources() -> list[str]:
    """Those that are built for Windows and need only headers of this repository and LIBRARIES."""
    found = [path for name in DIRECTORIES for path in sorted((ROOT / name).rglob("*.cpp"))]
    own = [path for path in found if not path.stem.endswith("_posix")]
    return [path.relative_to(ROOT).as_posix() for path in own]


@pytest.fixture(scope="module")
def command(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[str | Path]:
    """The compiler with its options."""
    compiler = shutil.which("clang++")
    standard = sorted(GCC.glob("*-posix/include/c++"))
    if compiler is None or not standard:
        pytest.skip("clang++ or the headers of MinGW-w64 are not installed.")
    # The host's other headers would hide those of Windows.
    libraries = tmp_path_factory.mktemp("headers")
    for name in LIBRARIES:
        (libraries / name).symlink_to(Path("/usr/include") / name)
    release = request.config.getoption("--release-dir")
    own = [ROOT, ROOT / "runtime/include", release / "runtime/include", release / "schema/include"]
    systems = [standard[-1], standard[-1] / "x86_64-w64-mingw32", HEADERS, libraries]
    return [
        compiler, "--target=x86_64-w64-windows-gnu", "-std=c++20", "-fsyntax-only",
        "-fms-extensions", "-D_WIN32_WINNT=0x0A00", "-DNOMINMAX", "-DUNICODE",
        *(f"-W{name}" for name in WARNINGS),
        *(f"-I{path}" for path in own),
        *(f"-isystem{path}" for path in systems),
    ]  # fmt: skip


@pytest.mark.parametrize("source", part(sources(), PARTS))
def test_a_source_has_no_extensions_of_gcc(source: str, command: list[str | Path]) -> None:
    done = subprocess.run([*command, ROOT / source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
