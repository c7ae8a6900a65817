"""Times a network in ncnn on Vulkan; runs in ncnn's own environment, not in .venv.

    python ncnn_run.py MODEL.ncnn.param INPUTS.npz --repeat N [--output logits.npy]

prints what spirloom-run's --json has of it: steady_min_ms, cpu_ms (a run's), first_run_ms, device.
float32 throughout, two CPU threads, everything else as ncnn has it by default.
"""

import argparse
import json
import time
from pathlib import Path

import ncnn
import numpy as np


def load(param: Path) -> ncnn.Net:
    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    net.opt.num_threads = 2
    for kind in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
        setattr(net.opt, f"use_{kind}", False)
    binary = param.with_suffix(".bin")
    if net.load_param(str(param)) != 0 or net.load_model(str(binary)) != 0:
        raise SystemExit(f"ncnn cannot load {param}")
    return net


def run(net: ncnn.Net, inputs: list[ncnn.Mat]) -> ncnn.Mat:
    with net.create_extractor() as extractor:
        for name, value in zip(net.input_names(), inputs, strict=True):
            extractor.input(name, value)
        failed, output = extractor.extract(net.output_names()[0])
        if failed:
            raise SystemExit("ncnn cannot run the network")
        return output


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("param", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    if ncnn.get_gpu_count() == 0:
        raise SystemExit("ncnn finds no Vulkan device")
    start = time.perf_counter()
    net = load(arguments.param)
    load_ms = (time.perf_counter() - start) * 1e3
    with np.load(arguments.inputs) as arrays:  # of a batch the first; ncnn has no batches
        inputs = [ncnn.Mat(np.ascontiguousarray(arrays[name][0])) for name in arrays]
    walls: list[float] = []
    cpu = time.process_time()
    for i in range(arguments.repeat + 1):
        if i == 1:
            cpu = time.process_time()
        start = time.perf_counter()
        output = run(net, inputs)
        walls.append((time.perf_counter() - start) * 1e3)
    cpu_ms = (time.process_time() - cpu) * 1e3 / arguments.repeat
    if arguments.output:
        np.save(arguments.output, np.array(output)[None])
    print(
        json.dumps(
            {
                "device": ncnn.get_gpu_info(0).device_name(),
                "load_ms": load_ms,
                "first_run_ms": walls[0],
                "steady_min_ms": min(walls[1:]),
                "cpu_ms": cpu_ms,
            }
        )
    )


if __name__ == "__main__":
    main()
