"""Network latency, batch 1, float32: Spirloom, PyTorch on the CPU, and ncnn, interleaved."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from spirloom.graph_reader import load
from spirloom.op_library import OpLibrary

from benchmarks import matmul_network
from benchmarks.calls import TABLES, write_calls
from benchmarks.context import Context, Timing, python, run, run_json
from benchmarks.kernels import Peaks, min_times, time_calls
from benchmarks.machine import cores
from benchmarks.peers.ncnn_model import NcnnModel, convert
from benchmarks.work import graph_multiply_adds
from tests.network.driver import Tools, import_network
from tests.network.export import export_network


@dataclass(frozen=True, slots=True)
class Files:
    """A network in the file formats of the compared programs, and its inputs for spirloom-run."""

    name: str
    slg: Path
    inputs: tuple[str, ...]  # NAME=FILE.npy
    arrays: Path  # all inputs in an .npz
    logits: Path
    multiply_adds: int
    ncnn: NcnnModel | None

    @classmethod
    def make(cls, name: str, context: Context) -> Files:
        """The files of a torchvision network, or of a matmul such as `matmul_512`."""
        folder = context.scratch / name
        folder.mkdir(exist_ok=True)
        size = matmul_network.size_of(name)
        return cls._network(name, context, folder) if size is None else cls._matmul(size, folder)

    @classmethod
    def _matmul(cls, size: int, folder: Path) -> Files:
        slg, param = folder / "product.slg", folder / "product.ncnn.param"
        matmul_network.write_slg(size, slg)
        matmul_network.write_ncnn(param)
        values = matmul_network.matrices(size)
        inputs = {name: value[None] for name, value in values.items()}
        np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]
        np.save(folder / "product.npy", (values["a"] @ values["b"])[None])
        return cls(
            f"matmul_{size}",
            slg,
            _save_inputs(values, folder),
            folder / "inputs.npz",
            folder / "product.npy",
            size**3,
            NcnnModel(param),
        )

    @classmethod
    def _network(cls, name: str, context: Context, folder: Path) -> Files:
        """Exports the network, unless it is cached, and imports it."""
        cache = context.build / "networks"
        cache.mkdir(exist_ok=True)
        exported = export_network(name, cache)
        tools = Tools(python().with_name("spirloom"), context.program("spirloom-run"))
        slg = import_network(tools, exported.onnx, 1, "f32", folder)
        first = {input_name: values[:1] for input_name, values in exported.inputs.items()}
        return cls(
            name,
            slg,
            _save_inputs(first, folder),
            exported.onnx.with_name("inputs.npz"),
            exported.onnx.with_name("logits.npy"),
            graph_multiply_adds(load(slg), OpLibrary()),
            None if context.ncnn is None else convert(context.ncnn, exported.onnx, folder),
        )


def _save_inputs(values: Mapping[str, npt.NDArray[Any]], folder: Path) -> tuple[str, ...]:
    """The arguments of spirloom-run's --input."""
    for name, value in values.items():
        np.save(folder / f"{name}.npy", value)
    return tuple(f"{name}={folder / name}.npy" for name in values)


def run_spirloom(
    context: Context,
    files: Files,
    *flags: str | Path,
    environment: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Runs spirloom-run and returns the object of its --json."""
    stats = context.scratch / "stats.json"
    inputs = [word for each in files.inputs for word in ("--input", each)]
    command: list[str | Path] = [context.program("spirloom-run"), files.slg, *inputs]
    run([*command, "--json", stats, *flags], environment)
    found: dict[str, Any] = json.loads(stats.read_text(encoding="utf-8"))
    return found


def run_torch(context: Context, files: Files) -> dict[str, Any]:
    """Runs PyTorch on all cores of the CPU."""
    return run_json([python(), "-m", "benchmarks.peers.torch_run", files.name, context.scratch,
                     "--repeat", str(context.repeat), "--threads", str(cores())])  # fmt: skip


def run_ncnn(
    context: Context, files: Files, repeat: int, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Runs ncnn on the same Vulkan device and compares its result with PyTorch's."""
    assert context.ncnn is not None and files.ncnn is not None
    return files.ncnn.run(context.ncnn, files.arrays, files.logits, repeat, environment)


def runners(context: Context) -> dict[str, Callable[[Files], dict[str, Any]]]:
    """The programs to time, in order."""
    steady = ("--warmup", "2", "--repeat", str(context.repeat))
    found: dict[str, Callable[[Files], dict[str, Any]]] = {
        "spirloom": lambda files: run_spirloom(context, files, *steady),
        "torch": lambda files: run_torch(context, files),
    }
    if context.ncnn is not None:
        found["ncnn"] = lambda files: run_ncnn(context, files, context.repeat)
    return found


def measure(context: Context) -> dict[str, Any]:
    """The results as JSON values."""
    pack = context.scratch / "probes.slcases"
    probes = write_calls(pack, TABLES[:1])
    networks = [Files.make(name, context) for name in (*context.matmuls, *context.networks)]
    times: dict[tuple[str, str], Timing] = {}
    peaks: list[Mapping[str, Timing]] = []
    for turn in range(context.times):
        for files in networks:
            print(f"{turn + 1} of {context.times}: {files.name}", flush=True)
            peaks.append(time_calls(context, pack, probes))
            for program, runner in runners(context).items():
                found = runner(files)
                time = Timing(found["steady_min_ms"] / 1e3, found["cpu_ms"] / 1e3)
                key = (files.name, program)
                times[key] = time.min_of(times.get(key, time))
    return {
        "peaks": asdict(Peaks.of(min_times(peaks, probes))),
        "networks": [
            {
                "name": files.name,
                "multiply_adds": files.multiply_adds,
                "times": {p: asdict(t) for (name, p), t in times.items() if name == files.name},
                "steady": steady_state(context, files),
            }
            for files in networks
        ],
    }


def steady_state(context: Context, files: Files) -> dict[str, Any]:
    """Dispatches, barriers, and host time of a steady run."""
    stats = run_spirloom(context, files, "--profile", "--repeat", str(context.repeat))
    return {name: stats[name] for name in ("dispatches", "barriers", "host_min_ms")}
