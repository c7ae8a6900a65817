"""`./dev bundle [DIR]`: packages `./dev bench gpu` for another machine.

Writes a directory and a .tar.xz of it. The other machine needs a GPU with its driver, a Vulkan
loader, and Python 3.11:

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
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from spirloom import graph_file
from spirloom.graph_reader import load

from benchmarks.context import ROOT, BenchmarkFailed, python
from benchmarks.gpu.calls import TABLE, write_pack
from benchmarks.gpu.language import LANGUAGE_MODELS, LanguageModel, write_language_model
from benchmarks.gpu.networks import NETWORKS, Network
from benchmarks.gpu.weights import with_synthetic_weights
from tests.network.driver import Tools, import_network
from tests.network.export import export_network

PROGRAMS = ("spirloom-run", "spirloom-kernels", "spirloom-llm")
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
) -> None:
    """Writes the bundle to a new or empty directory."""
    write_programs(build, folder, PROGRAMS)
    calls = write_pack(folder / "calls.slcases", table)
    text = json.dumps([asdict(call) for call in calls], indent=1)
    (folder / "calls.json").write_text(text, encoding="utf-8")
    for network in networks:
        _write_network(build, network, folder / "networks")
    for model in models:
        write_language_model(model, folder / "language")
    shutil.copy2(Path(__file__).with_name("torch_cuda.py"), folder)


def write_programs(build: Path, folder: Path, programs: Iterable[str]) -> None:
    """Copies programs with their libraries, the shader library of the probes, and bench.py."""
    copy_programs(build, folder, programs)
    shutil.copy2(build / "tools/peaks/peak_probes/shaders.slpack", folder / "probes.slpack")
    shutil.copy2(Path(__file__).with_name("bench.py"), folder)


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
    with (
        lzma.open(path, "wb", preset=1) as packed,
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
