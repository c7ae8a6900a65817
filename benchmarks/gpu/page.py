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
    "networks": "networks",
    "language": "language",
}

INTRODUCTION = """\
# GPU performance

Kernels, networks and language models on real GPUs, next to PyTorch on CUDA, llama.cpp on Vulkan,
and the measured peaks of the device (a roofline). This page is generated from
`benchmarks/results/gpu-*.json`.

## Method

    ./dev bench gpu                        # on this machine
    ./dev bundle                           # package for a machine with only Python
    python3 bench.py --out gpu-NAME.json   # there; repeat until it prints "complete"
    .venv/bin/python -m benchmarks pages   # regenerate this page from benchmarks/results/

- **Minimum**: a time is the minimum over several runs.
- **Clock rate**: an idle GPU has a low clock rate, so each measurement follows at least half a
  second of work.
- **Calls**: one call per run, GPU time by timestamps. For PyTorch, one tenth of a CUDA graph of ten
  calls, by events. Weights are synthetic and generated on the device. Inputs stay in device memory,
  so small calls may be served by caches.
- **Compute-bound calls** (GEMM, attention, convolution) are rated by multiply-adds, two operations
  each, against fp32 arithmetic in registers. Tensor cores (cooperative matrices) can exceed 100 %.
- **Memory-bound calls** are rated by the bytes of operands and results, each counted once, against
  the bandwidth of a copy of tensors larger than any cache.
- **Ratios** above 1 mean that Spirloom is faster.
- `bench.py` writes its file after each step and continues it. `--parts calls,networks` measures
  parts only; `--parts tuned`, and `./dev bench gpu --tuned`, also time networks with autotuned
  kernels.

Operator tests on each device: [devices](../devices.md). Tile sizes: `./dev sweep`
([tuning](../how-to/tune.md)). All operators at the shapes of published networks:
[roofline](roofline.md).
"""
# Headings and explanations of the groups. They hold for every device and every result.
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
        fp16 GEMM uses cooperative matrices (tensor cores) with fp32 accumulators, fp32 GEMM uses
        register tiles. Calls with few output tiles split the reduction (split-K). fp32 activations
        times bf16 weights are rounded to bf16 when they are loaded into the matrices. Vulkan's
        cooperative matrices belong to one subgroup; cuBLAS can also use instructions of four
        (wgmma).
    """,
    "gemv": """
        Each weight is read once, in coalesced loads of 16 bytes per invocation, so the bound is the
        bandwidth. int4 weights are multiplied in packed fp16 arithmetic, two products per
        instruction.
    """,
    "memory": """
        Each element is read and written once. Start and end of a call are part of its time here,
        while the CUDA graph of ten calls partly hides them.
    """,
    "attention": """
        Fused attention with online softmax (as FlashAttention). fp16 uses cooperative matrices and
        rounds the softmax weights to fp16; fp32 uses register tiles.
    """,
    "convolutions": """
        Implicit GEMM; fp16 uses cooperative matrices. With few input channels, the GEMM's K
        dimension flattens channels and window. Small images have few tiles, so their reduction may
        be split (split-K).
    """,
    "networks": """
        ms: latency by the host's clock, including copies of inputs and outputs. GPU ms: time
        between a timestamp before the first dispatch and one after the last. PyTorch: GPU time of a
        CUDA graph, in the faster of the contiguous and channels_last layouts, without TF32, with
        folded batch norms. sd15_unet is the denoising network of Stable Diffusion 1.5 (latents of
        64 x 64, 77 tokens), sd15_vae_decoder its image decoder (512 x 512), clip_vit_l_14 the image
        encoder of CLIP ViT-L/14; the others are torchvision's, with images of 224 x 224. Weights
        are synthetic. The ratio is of GPU times.
    """,
    "tuned networks": """
        The same networks with the kernels that `spirloom-run --tune` measured as fastest for each
        call, compared with the kernels that the specs' rules choose.
    """,
    "language models": """
        Tokens per second at batch size 1, of the shapes of Llama 3.1 8B and Llama 3.2 1B, with
        synthetic weights from one GGUF file for both programs, and a KV cache in fp16. Prefill: a
        prompt in runs of 512 tokens. Decode: steps after so many tokens in the KV cache, each
        program as it generates text: `spirloom.LLM` reads the tokens of up to 20 ms at once,
        llama.cpp each token. llama.cpp uses ggml's Vulkan backend, with the output layer in Q6_K in
        both. Spirloom imports the file with `--fp16`.
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


# The other programs of charts, in the order of their colors.
PEERS = ("PyTorch, f16", "PyTorch, f32", "llama.cpp")


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
        made[f"docs/performance/gpus-{name}.svg"] = draw_calls(results)
        made[f"docs/performance/gpus-{name}-peers.svg"] = draw_peers(results)
        sections.append(section(name, results))
    if not found:
        sections.append("No results are stored.\n")
    made["docs/performance/gpus.md"] = "\n".join(sections)
    return made


def section(name: str, results: Results) -> str:
    """The section of a device."""
    peaks = results["peaks"]
    groups = dict.fromkeys(call["group"] for call in results["calls"])
    parts = [
        f"## {peaks['device']}\n\n{peaks['driver']}, {results['date']}; {peers(results)}.\n\n"
        f"![Networks and language models next to other programs](gpus-{name}-peers.svg)\n",
        chapter("networks", networks_table(results)),
        *([chapter("tuned networks", tuned_table(results))] if "tuned" in results else []),
        chapter("language models", language_table(results)),
        f"{files_table(results)}\n### Device peaks\n",
        peaks_table(peaks),
        f"![Kernels: fraction of the peak](gpus-{name}.svg)\n",
        *(chapter(group, calls_table(results, group)) for group in groups),
    ]
    return "\n".join(parts)


def peers(results: Results) -> str:
    """The compared programs, or why they are missing."""
    torch = results["torch"]
    found = [
        f"PyTorch {torch['version']}" if "version" in torch else f"no PyTorch: {torch['missing']}"
    ]
    models = [each.get("llama_cpp", {}) for each in results["language"].values()]
    versions = dict.fromkeys(each["version"] for each in models if "version" in each)
    found += [f"llama.cpp by {version}" for version in versions]
    if models and not versions:
        found.append(f"no llama.cpp: {models[0].get('missing', 'not measured')}")
    return "; ".join(found)


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


def network_peers(results: Results) -> Mapping[str, float]:
    """By network, the time in PyTorch in seconds."""
    found: Mapping[str, float] = results["torch"].get("networks", {})
    return found


def networks_table(results: Results) -> str:
    """A row per network."""
    titles = ("network", "batch", "dtype", "ms", "GPU ms", "dispatches", "PyTorch ms",
              "PyTorch ÷ Spirloom")  # fmt: skip
    rows = []
    for name, found in sorted(results["networks"].items()):
        if "error" in found:
            rows.append((*name.rsplit("-", 2), "failed", "", "", "", ""))
            continue
        peer = network_peers(results).get(name)
        rows.append((
            *name.rsplit("-", 2),
            milliseconds(found["seconds"]),
            milliseconds(found["gpu_seconds"]),
            str(found["dispatches"]),
            "" if peer is None else milliseconds(peer),
            "" if peer is None else times(peer / found["gpu_seconds"]),
        ))  # fmt: skip
    return table(titles, rows)


def tuned_table(results: Results) -> str:
    """A row per network: with default kernels, and with autotuned ones."""
    titles = ("network", "batch", "dtype", "default ms", "tuned ms", "default GPU ms",
              "tuned GPU ms", "default ÷ tuned")  # fmt: skip
    rows = []
    for name, tuned in sorted(results["tuned"].items()):
        default = results["networks"][name]
        if "error" in tuned or "error" in default:
            continue
        pairs = [(default[key], tuned[key]) for key in ("seconds", "gpu_seconds")]
        shown = (milliseconds(seconds) for pair in pairs for seconds in pair)
        rows.append((*name.rsplit("-", 2), *shown, times(pairs[1][0] / pairs[1][1])))
    return table(titles, rows)


def language_table(results: Results) -> str:
    """A row per model and length."""
    titles = ("model", "weights", "phase", "Spirloom, tokens/s", "llama.cpp, tokens/s",
              "Spirloom ÷ llama.cpp")  # fmt: skip
    rows = []
    for name, found in results["language"].items():
        if "error" in found:
            rows.append((*name.rsplit("-", 1), f"failed: {found['error']}", "", "", ""))
            continue
        for phase, words in (("prefill", "prefill of"), ("decode", "decode at")):
            for length, rate in found["spirloom"][phase].items():
                peer = found["llama_cpp"].get(phase, {}).get(length)
                rows.append((
                    *name.rsplit("-", 1),
                    f"{words} {int(length):,}",
                    figure(rate),
                    "" if peer is None else figure(peer),
                    "" if peer is None else times(rate / peer),
                ))  # fmt: skip
    return table(titles, rows)


def files_table(results: Results) -> str:
    """A row per model: size of the GGUF file, import, and loading."""
    titles = ("model", "weights", "GGUF file, GB", "import, s", "load, s", "llama.cpp load, s")
    rows = []
    for name, found in results["language"].items():
        if "error" in found:
            continue
        peer = found["llama_cpp"].get("load_seconds")
        rows.append((
            *name.rsplit("-", 1),
            figure(found["file_bytes"] / 1e9),
            figure(found["import_seconds"]),
            figure(found["spirloom"]["load_seconds"]),
            "" if peer is None else figure(peer),
        ))  # fmt: skip
    return table(titles, rows)


def draw_calls(results: Results) -> str:
    """A chart of the fraction of the peak, by call."""
    rows = []
    for call in results["calls"]:
        series = 0 if is_compute_bound(call) else 1
        seconds = results["call_times"][call["id"]]["seconds"]
        rows.append(Bars(label(call), {series: share(call, seconds, results["peaks"]) * 100}))
    series_names = ("of peak fp32 arithmetic", "of copy bandwidth")
    return chart(f"{results['peaks']['device']}: fraction of the peak", series_names, rows, "%")


def draw_peers(results: Results) -> str:
    """A chart of the throughput relative to PyTorch and llama.cpp."""
    networks: dict[str, dict[int, float]] = {}
    for name, found in sorted(results["networks"].items()):
        peer = network_peers(results).get(name)
        if peer is not None and "error" not in found:
            network, batch, dtype = name.rsplit("-", 2)
            bars = networks.setdefault(f"{network}, batch {batch}", {})
            bars[0 if dtype == "f16" else 1] = peer / found["gpu_seconds"]
    rows = [Bars(label, values) for label, values in networks.items()]
    for name, found in results["language"].items():
        for phase in ("prefill", "decode"):
            theirs = found.get("llama_cpp", {}).get(phase, {})
            ours = found.get("spirloom", {}).get(phase, {})
            rows += [
                Bars(f"{name} {phase} {length}", {2: ours[length] / rate})
                for length, rate in theirs.items()
            ]
    title = f"{results['peaks']['device']}: speed relative to other programs"
    return chart(title, PEERS, rows, "×", equal=1.0)
