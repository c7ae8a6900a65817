"""The sizes of linked and stripped example programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.size_table import Table
from tests.network.export import export_network

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ("program", "shader pack", "text", "data", "bss", "file")

# Programs of benchmarks/minimal_programs/CMakeLists.txt, that of benchmarks/minimal_lto, and their
# row titles.
PROGRAMS = {
    "runtime": "the runtime, no shaders",
    "lto/runtime_lto": "the runtime, no shaders, link-time optimization",
    "floor": "one operator: `OPS floor_f32_buffer`",
    "digits_buffer": "the network of `examples/digits`, `STORAGES buffer`",
    "digits": "the network of `examples/digits`",
    "mobilenet_v2_buffer": "mobilenet_v2, `STORAGES buffer`",
    "mobilenet_v2": "mobilenet_v2",
    "mobilenet_v2_f16": "mobilenet_v2 in f16",
    "mobilenet_v2_compressed": "mobilenet_v2, `COMPRESS`",
    "everything": "all operators",
    "everything_compressed": "all operators, `COMPRESS`",
}


def make_models(build: Path, folder: Path) -> None:
    """Imports the models of the selective builds."""
    folder.mkdir(parents=True, exist_ok=True)
    mobilenet = export_network("mobilenet_v2", build / "networks").onnx
    digits = ROOT / "examples/digits/digits.onnx"
    _import(digits, folder / "digits_f32.slg")
    _import(mobilenet, folder / "mobilenet_v2_f32.slg")
    _import(mobilenet, folder / "mobilenet_v2_f16.slg", "--fp16")


def _import(onnx: Path, model: Path, *options: str) -> None:
    unchanged = model.with_suffix(".new")
    _call(ROOT / ".venv/bin/spirloom", "import", onnx, "-o", unchanged, "--dim", "batch=1",
          *options)  # fmt: skip
    if model.exists() and model.read_bytes() == unchanged.read_bytes():
        unchanged.unlink()  # keeps the modification time, so that no library is rebuilt
    else:
        unchanged.replace(model)


def link(build: Path, folder: Path) -> None:
    """Links the programs in `folder` from the objects in `build`; builds the one with link-time
    optimization, which requires objects of its own."""
    make_models(build, folder / "models")
    cmake, compiler = (_cached(build, name) for name in ("CMAKE_COMMAND", "CMAKE_CXX_COMPILER"))
    _call(cmake, "-S", ROOT / "benchmarks/minimal_programs", "-B", folder, "-G", "Ninja",
          "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={compiler}",
          f"-Dspirloom_DIR={build}", f"-DOBJECTS={build}/benchmarks/objects-Release.cmake",
          f"-DSPIRLOOM_SHADER_CACHE={build / 'shader-cache'}",
          f"-DMODELS={folder / 'models'}")  # fmt: skip
    _call(cmake, "--build", folder)
    _call(cmake, "-S", ROOT / "benchmarks/minimal_lto", "-B", folder / "lto", "-G", "Ninja",
          "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={compiler}")  # fmt: skip
    _call(cmake, "--build", folder / "lto", "--target", "runtime_lto")


def table(build: Path, folder: Path) -> Table:
    """The sizes of the linked programs."""
    packs = {name: folder / f"{name}_shaders/shaders.slpack" for name in PROGRAMS}
    packs["everything"] = build / "generated/shaders.slpack"
    rows = {}
    for name, title in PROGRAMS.items():
        pack = packs[name].stat().st_size if packs[name].exists() else 0
        rows[title] = (pack, *_stripped(folder / name))
    return Table("Programs", COLUMNS, rows)


def _stripped(program: Path) -> tuple[int, int, int, int]:
    """The sizes of text, data, bss, and the file of the stripped program."""
    stripped = program.with_name(program.name + ".stripped")
    _call("strip", "-o", stripped, program)
    text, data, bss = _call("size", stripped).splitlines()[1].split()[:3]
    return int(text), int(data), int(bss), stripped.stat().st_size


def _cached(build: Path, name: str) -> str:
    """The value of a variable in the build's CMake cache."""
    lines = (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith(f"{name}:"))


def _call(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = " ".join(str(part) for part in command)
        raise SystemExit(f"{words}\nfailed with exit code {done.returncode}:\n"
                         f"{done.stdout}{done.stderr}")  # fmt: skip
    return done.stdout
