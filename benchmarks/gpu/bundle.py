"""`./dev bundle [DIR]`: packages `./dev bench gpu` for another machine.

Writes a directory and a .tar.xz of it. The other machine needs a GPU with its driver, a Vulkan
loader, and Python 3.11 with NumPy. It is compared with PyTorch 2 and the package cyllama-vulkan
(llama.cpp) if it has these:

tar xf spirloom-gpu-….tar.xz; python3 spirloom-gpu-…/bench.py --out gpu.json
"""

from __future__ import annotations

import argparse
import json
import lzma
import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import flatbuffers
from spirloom import graph_file
from spirloom.graph_reader import load

from benchmarks.context import ROOT, BenchmarkFailed, python, run
from benchmarks.gpu.calls import TABLE, write_pack
from benchmarks.gpu.language import LANGUAGE_MODELS, LanguageModel
from benchmarks.gpu.networks import NETWORKS, PUBLISHED_NETWORKS, Network
from benchmarks.gpu.weights import with_synthetic_weights
from tests.network.driver import Tools, import_network
from tests.network.export import export_network

PROGRAMS = ("spirloom-run", "spirloom-kernels")
SCRIPTS = ("torch_cuda.py", "published.py", "gguf_model.py", "spirloom_language.py",
           "llama_cpp_language.py")  # fmt: skip
# PyTorch 2, which exports the networks of published.py. The distribution's PyTorch exports the
# others.
TORCH_PYTHON = ROOT / ".venv-torch" / "bin" / "python"
# Libraries that every Linux system with a Vulkan driver has; they are not bundled.
SYSTEM = (
    "linux-vdso",
    "ld-linux",
    "libc.so",
    "libm.so",
    "libstdc++",
    "libgcc_s",
    "libdl",
    "libpthread",
)


def make_bundle(
    build: Path,
    folder: Path,
    networks: Iterable[Network] = NETWORKS,
    table: Path = TABLE,
    models: Iterable[LanguageModel] = LANGUAGE_MODELS,
    published: Sequence[str] = PUBLISHED_NETWORKS,
) -> None:
    """Writes the bundle to a new or empty directory."""
    write_programs(build, folder, PROGRAMS)
    calls = write_pack(folder / "calls.slcases", table)
    text = json.dumps([asdict(call) for call in calls], indent=1)
    (folder / "calls.json").write_text(text, encoding="utf-8")
    for network in networks:
        _write_network(build, network, folder / "networks")
    if published:
        run([TORCH_PYTHON, "-m", "benchmarks.gpu.export", folder / "networks", *published])
    described = json.dumps([asdict(model) for model in models], indent=1)
    (folder / "language.json").write_text(described, encoding="utf-8")
    write_package(build, folder / "site")
    for name in SCRIPTS:
        shutil.copy2(Path(__file__).with_name(name), folder)


def write_programs(build: Path, folder: Path, programs: Iterable[str]) -> None:
    """Copies programs with their libraries, the shader library of the probes, and bench.py."""
    copy_programs(build, folder, programs)
    shutil.copy2(build / "tools/peaks/peak_probes/shaders.slpack", folder / "probes.slpack")
    shutil.copy2(Path(__file__).with_name("bench.py"), folder)


def write_package(build: Path, folder: Path) -> None:
    """Writes the Python package `spirloom` with the build's library, as a wheel contains it, and
    `flatbuffers`, which its importers require."""
    flatc = shutil.which("flatc")
    if flatc is None:
        raise BenchmarkFailed("flatc is not in PATH; install flatbuffers-compiler")
    schemas = [ROOT / "schema" / name for name in ("graph.fbs", "cases.fbs")]
    run([python(), ROOT / "cmake/make_package.py", "--flatc", flatc, "--out", folder, *schemas])
    package = Path(flatbuffers.__file__).parent
    shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    native = folder / "spirloom" / "_native"
    native.mkdir()
    library = build / "runtime/c/libspirloom.so.1"
    subprocess.run(["strip", "-o", native / library.name, library], check=True)
    shutil.copy2(build / "generated/shaders.slpack", native / "shaders_all.slpack")


def copy_programs(build: Path, folder: Path, programs: Iterable[str]) -> None:
    """Copies programs with their libraries to a new or empty directory."""
    (folder / "lib").mkdir(parents=True)
    for name in programs:
        program = folder / name
        subprocess.run(["strip", "-o", program, build / "bin" / name], check=True)
        for library in _libraries(program):
            shutil.copy2(library, folder / "lib" / library.name)


def _libraries(program: Path) -> list[Path]:
    """The shared libraries of a program, except those of every system."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=True)
    found = (line.split("=>")[1].split()[0] for line in done.stdout.splitlines() if "=>" in line)
    return [Path(path) for path in found if not Path(path).name.startswith(SYSTEM)]


def _write_network(build: Path, network: Network, folder: Path) -> None:
    """Writes the graph of a network with synthetic weights."""
    folder.mkdir(exist_ok=True)
    cache = build / "networks"
    cache.mkdir(exist_ok=True)
    exported = export_network(network.name, cache)
    tools = Tools(python().with_name("spirloom"), build / "bin" / "spirloom-run")
    for dtype in network.dtypes:
        made = import_network(tools, exported.onnx, network.batch, dtype, folder)
        graph = with_synthetic_weights(load(made))
        graph_file.save(graph, folder / f"{network.name}-{network.batch}-{dtype}.slg")
        made.unlink()


def bundle_name(what: str) -> str:
    return f"spirloom-{what}-{platform.system().lower()}-{platform.machine()}"


def archive(folder: Path) -> None:
    """Writes a .tar.xz of the directory next to it, and prints its path."""
    path = folder.with_name(f"{folder.name}.tar.xz")
    # The programs contain the same shaders: a dictionary of their size stores these once.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 64 << 20}]
    with (
        lzma.open(path, "wb", filters=filters) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        tar.add(folder, folder.name)
    print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev bundle", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="parent directory of the bundle (default: dist/)",
        default=ROOT / "dist",
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    folder = arguments.folder / bundle_name("gpu")
    shutil.rmtree(folder, ignore_errors=True)
    make_bundle(arguments.build, folder)
    archive(folder)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkFailed as error:
        sys.exit(f"bundle: {error}")
