"""Times a network in PyTorch on the CPU, batch 1.

    python -m benchmarks.peers.torch_run NETWORK CACHE [--repeat N] [--threads N]

prints a JSON object with keys of spirloom-run's --json: steady_min_ms, cpu_ms (per run),
first_run_ms.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks import matmul_network
from tests.network.export import make_network


def make(name: str, cache: Path) -> tuple[Callable[..., torch.Tensor], list[torch.Tensor]]:
    """The function to time and its arguments."""
    size = matmul_network.size_of(name)
    if size is not None:
        return torch.mm, [torch.from_numpy(x) for x in matmul_network.matrices(size).values()]
    made = cache / f"{name}.pt"
    if not made.exists():  # creating a network takes seconds
        torch.save(make_network(name), made)
    network, batch = torch.load(made, weights_only=False)  # written by this program
    return network, [value[:1] for value in batch.values()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("network")
    parser.add_argument("cache", type=Path, help="a cache directory for networks")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    network, inputs = make(arguments.network, arguments.cache)
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
