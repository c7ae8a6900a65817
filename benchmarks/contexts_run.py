"""Runs contexts of a model, each on a thread, and prints a JSON object with their throughput.

python3 -m benchmarks.contexts_run net.slg inputs.npz --contexts 2 --runs 40
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m benchmarks.contexts_run")
    parser.add_argument("slg", type=Path)
    parser.add_argument("inputs", type=Path, help="a .npz file with the inputs of a run")
    parser.add_argument("--contexts", type=int, default=1)
    parser.add_argument("--runs", type=int, default=40, help="number of runs of all contexts")
    parser.add_argument("--library", type=Path, help="the library of the C API")
    parser.add_argument("--shaders", type=Path, help="the shader library")
    parser.add_argument("--frontend", type=Path, help="directory of the package spirloom")
    arguments = parser.parse_args()
    for variable, value in (("LIBRARY", arguments.library), ("SHADERS", arguments.shaders)):
        if value is not None:
            os.environ[f"SPIRLOOM_{variable}"] = str(value)
    if arguments.frontend is not None:
        sys.path.insert(0, str(arguments.frontend))
    from spirloom.runtime.runtime import Runtime

    runtime = Runtime()
    model = runtime.load(arguments.slg, time_runs=True)
    contexts = [model, *(model.context() for _ in range(arguments.contexts - 1))]
    with np.load(arguments.inputs) as arrays:
        inputs = {
            each.name: arrays[each.name][: each.shape[0]].astype(each.dtype)
            for each in model.inputs
        }
    each = max(arguments.runs // len(contexts), 1)
    ready = threading.Barrier(len(contexts) + 1)
    device_seconds = [0.0] * len(contexts)

    def work(index: int) -> None:
        context = contexts[index]
        context(**inputs)
        ready.wait()
        for _ in range(each):
            context(**inputs)
            device_seconds[index] += context.gpu_time() / 1e3

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(contexts))]
    for thread in threads:
        thread.start()
    ready.wait()
    wall, cpu = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.join()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    runs = each * len(contexts)
    print(json.dumps({
        "device": runtime.device.name,
        "contexts": len(contexts),
        "runs": runs,
        "runs_per_s": runs / wall,
        "ms_per_run": 1e3 * len(contexts) * wall / runs,  # latency of a run
        # Times of overlapping runs include each other: 0 where they fill the device.
        "device_idle": max(0.0, 1 - sum(device_seconds) / wall),
        "cpu_cores": cpu / wall,  # of a software device, also the device's work
    }))  # fmt: skip


if __name__ == "__main__":
    main()
