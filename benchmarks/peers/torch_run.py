"""Times a network in PyTorch on the CPU, batch 1.

    python -m benchmarks.peers.torch_run NETWORK [--repeat N] [--threads N]

prints what spirloom-run's --json has of it: steady_min_ms, cpu_ms (a run's), first_run_ms.
"""

from __future__ import annotations

import argparse
import json
import time

import torch

from tests.network.export import make_network


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("network")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    network, batch = make_network(arguments.network)
    inputs = [value[:1] for value in batch.values()]
    walls, cpus = [], []
    with torch.inference_mode():
        for _ in range(arguments.repeat + 1):
            start, cpu = time.perf_counter(), time.process_time()
            network(*inputs)
            walls.append((time.perf_counter() - start) * 1e3)
            cpus.append((time.process_time() - cpu) * 1e3)
    found = {"first_run_ms": walls[0], "steady_min_ms": min(walls[1:]), "cpu_ms": min(cpus[1:])}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
