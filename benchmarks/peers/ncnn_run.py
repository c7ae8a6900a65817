"""Times a network in ncnn on Vulkan. Runs in a separate environment (ncnn_model.py) and therefore
imports no module of the project.

    python ncnn_run.py MODEL.ncnn.param INPUTS.npz OUTPUT.npy [--repeat N]

prints a JSON object with keys of spirloom-run's --json: load_ms, first_run_ms and, with --repeat,
steady_min_ms and cpu_ms (per run). Computes in float32; other ncnn options have their defaults.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import ncnn
import numpy as np
import numpy.typing as npt


def load(param: Path) -> ncnn.Net:
    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    for option in dir(net.opt):
        if option.startswith(("use_fp16", "use_bf16")):
            setattr(net.opt, option, False)
    if net.load_param(str(param)) != 0 or net.load_model(str(param.with_suffix(".bin"))) != 0:
        raise SystemExit(f"ncnn failed to load {param}")
    return net


def run(net: ncnn.Net, inputs: list[ncnn.Mat]) -> npt.NDArray[np.float32]:
    with net.create_extractor() as extractor:
        for name, value in zip(net.input_names(), inputs, strict=True):
            extractor.input(name, value)
        failed, output = extractor.extract(net.output_names()[0])
        if failed:
            raise SystemExit("ncnn failed to run the network")
        return np.array(output)  # a copy: the extractor frees its memory


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("param", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--repeat", type=int, default=0)
    arguments = parser.parse_args()
    if ncnn.get_gpu_count() == 0:
        raise SystemExit("ncnn finds no Vulkan device")
    start = time.perf_counter()
    net = load(arguments.param)
    found = {"load_ms": (time.perf_counter() - start) * 1e3}
    with np.load(arguments.inputs) as arrays:  # the first of the batch: ncnn has no batch dimension
        images = [np.ascontiguousarray(arrays[name][0]) for name in arrays]
    inputs = [ncnn.Mat(image) for image in images]  # these reference the arrays
    walls, cpus = [], []
    for _ in range(arguments.repeat + 1):
        start, cpu = time.perf_counter(), time.process_time()
        output = run(net, inputs)
        walls.append((time.perf_counter() - start) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    np.save(arguments.output, output[None])
    found["first_run_ms"] = walls[0]
    if arguments.repeat:
        found |= {"steady_min_ms": min(walls[1:]), "cpu_ms": min(cpus[1:])}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
