"""Times a network in PyTorch on the CPU, batch 1.

    python -m benchmarks.peers.torch_run NETWORK CACHE [--repeat N] [--threads N]

prints what spirloom-run's --json has of it: steady_min_ms, cpu_ms (a run's), first_run_ms.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks import products
from tests.network.export import make_network


def make(name: str, cache: Path) -> tuple[Callable[..., torch.Tensor], list[torch.Tensor]]:
    """What to run, and on what."""
    size = products.size_of(name)
    if size is not None:
        return torch.mm, [torch.from_numpy(x) for x in products.matrices(size).values()]
    made = cache / f"{name}.pt"
    if not made.exists():  # making one takes seconds
        torch.save(make_network(name), made)
    network, batch = torch.load(made)
    return network, [value[:1] for value in batch.values()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("network")
    parser.add_argument("cache", type=Path, help="a folder where networks are kept")
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
