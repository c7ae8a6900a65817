"""Load latency: from the model file to the first result, with cold and with warm caches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.context import Context
from benchmarks.networks import Files, run_ncnn, run_spirloom

NETWORKS = ("squeezenet1_1", "mobilenet_v2", "resnet18", "efficientnet_b0", "googlenet")
# Milliseconds. `result_ms`: from opening the file to the first result; `process_ms`: from the start
# of the process to its end.
PEER_TIMES = ("load_ms", "first_run_ms", "result_ms", "process_ms")
TIMES = ("pipeline_ms", *PEER_TIMES)


def measure(context: Context) -> dict[str, Any]:
    """The results as JSON values; times are minima over several processes."""
    names = [name for name in NETWORKS if name in context.networks]
    return {"networks": [_network(context, Files.make(name, context)) for name in names]}


def _network(context: Context, files: Files) -> dict[str, Any]:
    filled = context.scratch / "caches" / files.name
    (filled / "driver").mkdir(parents=True)
    runs: dict[str, list[dict[str, Any]]] = {}
    _start(context, files, filled)
    if context.ncnn is not None:
        _start_peer(context, files, filled)
    for _ in range(context.times):
        for state, cache in (("cold", None), ("warm", filled)):
            runs.setdefault(f"spirloom {state}", []).append(_start(context, files, cache))
            if context.ncnn is not None:
                peer = _start_peer(context, files, cache)
                runs.setdefault(f"ncnn {state}", []).append(peer)
    first = runs["spirloom cold"][0]
    return {
        "name": files.name,
        "pipelines": first["pipelines"],
        "starts": {
            start: {
                name: min(stats[name] for stats in found)
                for name in (TIMES if start.startswith("spirloom") else PEER_TIMES)
            }
            for start, found in runs.items()
        },
    }


def _driver_cache(cache: Path | None) -> dict[str, str]:
    """The environment with Mesa's shader cache in `cache`, or disabled for None."""
    if cache is None:
        return {**os.environ, "MESA_SHADER_CACHE_DISABLE": "true"}
    return {**os.environ, "MESA_SHADER_CACHE_DIR": str(cache / "driver")}


def _start(context: Context, files: Files, cache: Path | None) -> dict[str, Any]:
    """Runs a process that loads the model and runs it once."""
    own: str | Path = "none" if cache is None else cache / "pipelines"
    environment = _driver_cache(cache)
    return _timed(lambda: run_spirloom(context, files, "--cache-dir", own, environment=environment))


def _start_peer(context: Context, files: Files, cache: Path | None) -> dict[str, Any]:
    environment = _driver_cache(cache)
    return _timed(lambda: run_ncnn(context, files, repeat=0, environment=environment))


def _timed(process: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    start = time.perf_counter()
    stats = process()
    process_ms = (time.perf_counter() - start) * 1e3
    result_ms = stats["load_ms"] + stats["first_run_ms"]
    return {**stats, "result_ms": result_ms, "process_ms": process_ms}
