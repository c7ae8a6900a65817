"""Throughput of several execution contexts of a model, with the idle times of host and device."""

from __future__ import annotations

from typing import Any

from benchmarks.context import ROOT, Context, python, run_json
from benchmarks.networks import Files

NETWORKS = ("squeezenet1_1", "mobilenet_v2", "resnet18")
COUNTS = (1, 2, 4)


def measure(context: Context) -> dict[str, Any]:
    """The results as JSON values: of each network and number of contexts, the process of the
    highest throughput."""
    names = [name for name in NETWORKS if name in context.networks]
    return {"networks": [_network(context, Files.make(name, context)) for name in names]}


def _network(context: Context, files: Files) -> dict[str, Any]:
    library = context.build / "runtime" / "c" / "libspirloom.so.1"
    shaders = context.build / "generated" / "shaders.slpack"
    best: dict[int, dict[str, Any]] = {}
    for _ in range(context.times):
        for count in COUNTS:
            found = run_json(
                [python(), "-m", "benchmarks.contexts_run", files.slg, files.arrays,
                 "--contexts", str(count), "--runs", str(context.repeat * COUNTS[-1]),
                 "--library", library, "--shaders", shaders, "--frontend", ROOT / "frontend"]
            )  # fmt: skip
            if count not in best or found["runs_per_s"] > best[count]["runs_per_s"]:
                best[count] = found
    for count, found in best.items():
        print(f"{files.name}: {count} contexts: {found['runs_per_s']:.1f} runs/s, device idle "
              f"{found['device_idle']:.0%}, CPU {found['cpu_cores']:.2f} cores")  # fmt: skip
    return {"name": files.name, "contexts": list(best.values())}
