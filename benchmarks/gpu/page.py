"""docs/performance/gpus.md and its charts, from benchmarks/results/gpu-*.json."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from benchmarks.context import BenchmarkFailed
from benchmarks.plot import Bars, chart
from benchmarks.tables import figure, milliseconds, percent, table, times

Results = Mapping[str, Any]

# By part of bench.py, a key of its results that the page requires.
REQUIRED = {
    "peaks": "peaks",
    "calls": "call_times",
    "networks": "network_gpu_times",
    "language": "language",
}

INTRODUCTION = """\
# GPU performance

Kernels, networks and language models on real GPUs, relative to the measured peaks of the device (a
roofline) and to PyTorch on CUDA. This page is generated from `benchmarks/results/gpu-*.json`.

## Method

    ./dev bench gpu                        # on this machine
    ./dev bundle                           # package for a machine with only Python
    python3 bench.py --out gpu-NAME.json   # there; store in benchmarks/results/
    .venv/bin/python -m benchmarks pages   # regenerate this page

- **Minimum**: a figure is the minimum over all processes.
- **Calls**: one call per run, GPU time by timestamps. For PyTorch, one tenth of a CUDA graph of ten
  calls, by events. Weights are synthetic and generated on the device. Inputs stay in device memory,
  so small calls may be served by caches.
- **Compute-bound calls** (GEMM, attention, convolution) are rated by multiply-adds, two operations
  each, against fp32 arithmetic in registers. Tensor cores (cooperative matrices) exceed 100 %.
- **Memory-bound calls** are rated by the bytes of operands and results, each counted once, against
  the bandwidth of a copy of tensors larger than any cache.
- `bench.py` writes its file after each part and resumes from it. `--parts calls,networks` repeats
  parts. `--parts tuned`, and `./dev bench gpu --tuned`, also time networks with autotuned kernels.

Operator tests on each device: [devices](../devices.md). Tile sizes: `./dev sweep`
([tuning](../how-to/tune.md)).
"""
# Headings and explanations of the groups; they hold for every device.
HEADINGS = {
    "gemm": "GEMM",
    "gemv": "GEMV (M = 1…8)",
    "memory": "Memory-bound operators",
    "attention": "Attention",
    "convolutions": "Convolution",
    "networks": "Networks",
    "tuned networks": "Networks with autotuned kernels",
    "language models": "Language models",
}
REMARKS = {
    "gemm": """
        fp16 GEMM uses cooperative matrices (tensor cores) with fp32 accumulators. The remaining gap
        to cuBLAS is due to matrix instructions of four subgroups (wgmma), which Vulkan does not
        expose. fp32 GEMM uses tiles of 64 x 64, tiles of 128 x 64 for large grids, and split-K
        tiles of 32 x 64 for small grids (512 x 512, 197 rows), where occupancy is low. fp32
        activations times bf16 weights are rounded to bf16 when they are loaded into the matrices.
    """,
    "gemv": """
        Bandwidth-bound: each weight is read once, in coalesced loads of 16 bytes per invocation.
        With few output columns, one workgroup per 16 or 32 columns has too few loads in flight to
        saturate the memory. With M = 8 in fp16, arithmetic takes longer than the loads. int4
        weights are multiplied in packed fp16 arithmetic, two products per instruction; the latency
        of the first loads and the last reduction is not hidden.
    """,
    "memory": """
        Each element is read and written once. The start and end of a call cost a few microseconds,
        which is noticeable in fp16 and which the CUDA graph of ten calls partly hides. The fp16
        transpose writes segments of only 64 bytes.
    """,
    "attention": """
        Fused attention with online softmax (as FlashAttention). fp16 uses cooperative matrices and
        rounds the softmax weights to fp16; fp32 uses register tiles. A sequence of a few hundred
        keys has too few tiles to fill the device.
    """,
    "convolutions": """
        Implicit GEMM; fp16 uses cooperative matrices. With few input channels, the GEMM's K
        dimension flattens channels and window. Small images have few tiles, so the reduction is
        split within the workgroup (split-K).
    """,
    "networks": """
        At batch 1 a network is a chain of dependent calls that do not fill the device, each at
        least as long as the dispatch latency. ms: latency by the host's clock, including copies of
        inputs and outputs. GPU ms: time between a timestamp before the first dispatch and one after
        the last. At batch 32 the difference is the copy of 19 MB of inputs.
    """,
    "tuned networks": """
        The same networks with the kernels that `spirloom-run --tune` measured as fastest for each
        call, compared with the kernels that the specs' rules choose.
    """,
    "language models": """
        Throughput of prefill (512 tokens) and decode (128 tokens), batch size 1. A decode step is a
        chain of short dispatches: dispatch latency is one quarter of its time with int4 weights.
    """,
}
PEAKS = (
    ("write", "write bandwidth", 1e-9, "GB/s"),
    ("read", "read bandwidth", 1e-9, "GB/s"),
    ("copy", "copy bandwidth (read plus written)", 1e-9, "GB/s"),
    ("cached_read", "cache read bandwidth", 1e-9, "GB/s"),
    ("shared_read", "shared memory read bandwidth", 1e-9, "GB/s"),
    ("multiply_add", "fp32 arithmetic throughput", 1e-9, "GFLOP/s"),
    ("dispatch_ns", "latency of a dependent dispatch", 1e-3, "µs"),
)


def read_results(folder: Path) -> dict[str, Results]:
    """The stored results of bench.py, by name. Raises BenchmarkFailed if a file lacks a part that
    the page requires."""
    found: dict[str, Results] = {}
    for path in sorted(folder.glob("gpu-*.json")):
        results = json.loads(path.read_text(encoding="utf-8"))
        for part, key in REQUIRED.items():
            if key not in results:
                raise BenchmarkFailed(
                    f"{path} has no {key}; add it with python3 bench.py --out FILE --parts {part}"
                )
        found[path.stem.removeprefix("gpu-")] = {"torch": {"missing": "not measured"}, **results}
    return found


def files(found: Mapping[str, Results]) -> dict[str, str]:
    """The generated files: text by path relative to the repository."""
    made = {}
    sections = [INTRODUCTION]
    for name, results in found.items():
        made[f"docs/performance/gpus-{name}.svg"] = draw(results)
        sections.append(section(name, results))
    made["docs/performance/gpus.md"] = "\n".join(sections)
    return made


def section(name: str, results: Results) -> str:
    """The section of a device."""
    peaks, torch = results["peaks"], results["torch"]
    peer = (
        f"PyTorch {torch['version']}" if "version" in torch else f"no PyTorch: {torch['missing']}"
    )
    groups = dict.fromkeys(call["group"] for call in results["calls"])
    parts = [
        f"## {peaks['device']}\n\n{peaks['driver']}, {results['date']}, minimum over at least "
        f"{results['times']} processes; {peer}.\n\n"
        f"![Fraction of the peak](gpus-{name}.svg)\n\n### Device peaks\n",
        peaks_table(peaks),
        *(chapter(group, calls_table(results, group)) for group in groups),
        chapter("networks", networks_table(results)),
        *([chapter("tuned networks", tuned_table(results))] if "tuned" in results else []),
        chapter("language models", language_table(results)),
    ]
    return "\n".join(parts)


def chapter(group: str, figures: str) -> str:
    """The explanation of a group of calls, and its table."""
    remark = fill(" ".join(REMARKS[group].split()), 100)
    return f"### {HEADINGS[group]}\n\n{remark}\n\n{figures}"


def peaks_table(peaks: Mapping[str, Any]) -> str:
    """The peaks of the device."""
    rows = ((title, figure(peaks[key] * unit), name) for key, title, unit, name in PEAKS)
    return table(("peak", "measured", "unit"), rows)


def share(call: Mapping[str, Any], seconds: float, peaks: Mapping[str, Any]) -> float:
    """The fraction of the peak that a call of that time reaches."""
    if is_compute_bound(call):
        return float(2 * call["multiply_adds"] / seconds / peaks["multiply_add"])
    return float(call["bytes"] / seconds / peaks["copy"])


def is_compute_bound(call: Mapping[str, Any]) -> bool:
    """Whether the call is rated by arithmetic throughput. A GEMV is rated by bandwidth."""
    return bool(call["multiply_adds"]) and call["group"] != "gemv"


def calls_table(results: Results, group: str) -> str:
    """A row per call of a group."""
    titles = ("call", "µs", "throughput", "of peak", "PyTorch µs", "PyTorch ÷ Spirloom", "kernels")
    return table(
        titles, (row(results, call) for call in results["calls"] if call["group"] == group)
    )


def row(results: Results, call: Mapping[str, Any]) -> Sequence[str]:
    """The cells of a call."""
    found = results["call_times"][call["id"]]
    seconds = found["seconds"]
    rate = 2e-12 * call["multiply_adds"] / seconds, "TFLOP/s"
    if not is_compute_bound(call):
        rate = 1e-12 * call["bytes"] / seconds, "TB/s"
    peer = results["torch"].get("calls", {}).get(call["id"])
    return (
        label(call),
        figure(seconds * 1e6),
        f"{figure(rate[0])} {rate[1]}",
        percent(share(call, seconds, results["peaks"])),
        "" if peer is None else figure(peer * 1e6),
        "" if peer is None else times(peer / seconds),
        found["kernels"],
    )


def label(call: Mapping[str, Any]) -> str:
    """`mm 512x512 512x512 f16`: trailing absent arguments are omitted."""
    operator, arguments, _ = call["id"].split("/")
    name = operator.split(".")[1].lstrip("_")
    given = re.sub(r"( no( [a-z]+)+)+$", "", arguments.replace("_", " "))
    return f"{name} {given} {call['dtype']}"


def networks_table(results: Results) -> str:
    """A row per network."""
    peers = results["torch"].get("networks", {})
    titles = (
        "network",
        "batch",
        "dtype",
        "ms",
        "GPU ms",
        "dispatches",
        "PyTorch ms",
        "PyTorch ÷ Spirloom",
    )
    rows = []
    for name, found in results["network_times"].items():
        peer = peers.get(name)
        rows.append((
            *name.rsplit("-", 2),
            milliseconds(found["seconds"]),
            milliseconds(results["network_gpu_times"][name]["seconds"]),
            str(found["dispatches"]),
            "" if peer is None else milliseconds(peer),
            "" if peer is None else times(peer / found["seconds"]),
        ))  # fmt: skip
    return table(titles, rows)


def tuned_table(results: Results) -> str:
    """A row per network: with default kernels, and with autotuned ones."""
    titles = ("network", "batch", "dtype", "default ms", "tuned ms", "default GPU ms",
              "tuned GPU ms", "default ÷ tuned")  # fmt: skip
    rows = []
    for name in results["network_times"]:
        pairs = [
            (results[key][name]["seconds"], results["tuned"][key][name]["seconds"])
            for key in ("network_times", "network_gpu_times")
        ]
        shown = (milliseconds(seconds) for pair in pairs for seconds in pair)
        default, tuned = pairs[1]
        rows.append((*name.rsplit("-", 2), *shown, times(default / tuned)))
    return table(titles, rows)


def language_table(results: Results) -> str:
    """A row per model."""
    titles = ("model", "weights", "prefill, tokens/s", "decode, tokens/s", "dispatches per token")
    return table(
        titles,
        (
            (
                *name.rsplit("-", 1),
                figure(found["prompt_tokens_per_second"]),
                figure(found["tokens_per_second"]),
                str(found["dispatches"]),
            )
            for name, found in results["language"].items()
        ),
    )


def draw(results: Results) -> str:
    """A chart of the fraction of the peak, by call."""
    rows = []
    for call in results["calls"]:
        series = 0 if is_compute_bound(call) else 1
        seconds = results["call_times"][call["id"]]["seconds"]
        rows.append(Bars(label(call), {series: share(call, seconds, results["peaks"]) * 100}))
    series_names = ("of peak fp32 arithmetic", "of copy bandwidth")
    return chart(f"{results['peaks']['device']}: fraction of the peak", series_names, rows, "%")
