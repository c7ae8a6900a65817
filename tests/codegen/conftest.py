"""Fixtures of the code generator's tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.codegen import small_project

ROOT = Path(__file__).resolve().parent.parent.parent
_RUNTIME = ["base/data_types", "base/error", "base/text", "base/types", "base/status"]
_RUNTIME += ["pack/byte_reader", "pack/device_properties"]
_RUNTIME += ["ops/call_formulas", "ops/op_check", "ops/op_reader", "ops/registry_reader"]


@pytest.fixture
def project(tmp_path: Path) -> small_project.Project:
    """A valid project."""
    return small_project.make(tmp_path)


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bytes], list[str]]:
    """Runs formula_probe.cpp, built with the runtime's sources: (mode, bytes of a file) → lines."""
    compiler = shutil.which(os.environ.get("CXX", "")) or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    directory = tmp_path_factory.mktemp("probe")
    sources = [ROOT / f"runtime/{name}.cpp" for name in _RUNTIME]
    for pattern in ("eval*.cpp", "formula*.cpp"):
        sources += sorted((ROOT / "runtime/ops").glob(pattern))
    sources.append(ROOT / "tests/codegen/formula_probe.cpp")
    command = [compiler, "-std=c++20", "-O0", f"-I{ROOT}", f"-I{ROOT / 'runtime/include'}"]
    command += ["-o", str(directory / "probe"), *map(str, sources)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]

    def run(mode: str, data: bytes) -> list[str]:
        (directory / "input").write_bytes(data)
        arguments = [str(directory / "probe"), mode, str(directory / "input")]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return list(done.stdout.splitlines())

    return run
