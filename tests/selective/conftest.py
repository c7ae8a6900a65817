"""Options of the tests of selective libraries, and the project that builds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.network.driver import Tools, call, import_network
from tests.network.export import TRANSFORMER, Exported, export_network
from tests.selective.project_build import SelectedBuild
from tests.selective.small_model import save_unary

ROOT = Path(__file__).resolve().parents[2]
Models = dict[tuple[str, str], Path]  # graph files for one image, by network and dtype
SELECTED = [
    ("mobilenet_v2", "f32"),
    ("mobilenet_v2", "f16"),
    ("resnet18", "f16"),
    (TRANSFORMER, "f32"),
]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    binary_dir = ROOT / "build/release"
    objects = binary_dir / "tests/selective/objects-Release.cmake"
    group.addoption("--binary-dir", type=Path, default=binary_dir)
    group.addoption("--objects", type=Path, default=objects)
    group.addoption("--cmake", default="cmake")
    group.addoption("--compiler", default="g++")
    group.addoption("--nm", default="nm")


@pytest.fixture(scope="session")
def binary_dir(request: pytest.FixtureRequest) -> Path:
    directory: Path = request.config.getoption("--binary-dir")
    return directory


@pytest.fixture(scope="session")
def exported(binary_dir: Path) -> dict[str, Exported]:
    """The networks of tests/network."""
    names = dict.fromkeys(name for name, _ in SELECTED)
    return {name: export_network(name, binary_dir / "networks") for name in names}


@pytest.fixture(scope="session")
def models(binary_dir: Path, exported: dict[str, Exported]) -> Models:
    tools = Tools(ROOT / ".venv/bin/spirloom", binary_dir / "bin/spirloom-run")
    directory = binary_dir / "tests/selective/models"
    directory.mkdir(parents=True, exist_ok=True)
    imported: Models = {}
    for name, dtype in SELECTED:
        path = directory / f"{name}_{dtype}.slg"
        import_network(tools, exported[name].onnx, 1, dtype, directory).replace(path)
        imported[name, dtype] = path
    return imported


@pytest.fixture(scope="session")
def selected(request: pytest.FixtureRequest, binary_dir: Path, models: Models) -> SelectedBuild:
    """The built project; its directory is reused by later test runs."""
    option = request.config.getoption
    directory = binary_dir / "tests/selective/build"
    build = SelectedBuild(directory, option("--cmake"), option("--nm"))
    save_unary("aten.relu", build.small_model)
    source = Path(__file__).parent / "project"
    call([option("--cmake"), "-S", source, "-B", directory, "-G", "Ninja",
          "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={option('--compiler')}",
          f"-Dspirloom_DIR={binary_dir}", f"-DOBJECTS={option('--objects')}",
          f"-DSPIRLOOM_SHADER_CACHE={binary_dir / 'shader-cache'}",
          f"-DMODELS={next(iter(models.values())).parent}",
          "-DSMALL_OPS=relu_f32_buffer", f"-DSMALL_MODEL={build.small_model}"])  # fmt: skip
    build.build()
    return build
