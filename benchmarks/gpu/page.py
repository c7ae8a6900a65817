"""docs/gpus.md and its pictures, from benchmarks/results/gpu-*.json."""

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

# Of each part that a page is about, something that it gives.
NEEDED = {
    "ceilings": "ceilings",
    "calls": "call_times",
    "networks": "network_gpu_times",
    "language": "language",
}

INTRODUCTION = """\
# GPUs

    ./dev bench gpu                    # on this machine
    ./dev bundle                       # a folder for another one: Python there, and nothing else
    python3 bench.py --out FILE.json   # there; the file goes to benchmarks/results/gpu-NAME.json

`bench.py` writes its file after each part, and goes on with it: `--parts calls,networks` measures
these anew. With `--parts tuned`, and `./dev bench gpu --tuned`, networks are also timed with the
kernels that tuning finds fastest on the device, beside the rule's.

    ./dev sweep mm --kernel matrix_64 --param "tile=[64, 64, 32],[64, 64, 64]" \\
        --call "2048x2048 2048x2048 f16"          # a kernel with other tile sizes, on this machine
    ./dev sweep ... --bundle DIR                  # or in a folder for another one: python3 sweep.py

`./dev sweep` makes a version of a kernel for every combination of its template's params, without a
change of specs, compares each with what a portable kernel computes on the same device, and lists
times and errors, with the kernel that the rule takes. `--key` gives what else follows from params,
such as `grid`; `--help` says how.

    build/release/bin/spirloom-run call.slg --random 0 --cache-dir CACHE    # there
    python3 -m tools.machine_code CACHE/pipelines-*.bin --out LISTINGS

`tools/machine_code.py` lists the machine code that NVIDIA's driver made of kernels, and counts its
instructions.

How near kernels and networks come to what a GPU can do, and to PyTorch where it has CUDA. This page
is made from `benchmarks/results/gpu-*.json` (`.venv/bin/python -m benchmarks pages`). A figure is
the least of all processes; a call is one by itself, GPU time by timestamps, PyTorch's the tenth
part of a CUDA graph of ten, by events. Weights are numbers made up on the device, inputs stay where
they are: what small calls read may come from caches. A product is measured by its multiply-adds,
two operations each, against arithmetic of f32 in registers, which matrix units exceed; another call
by the bytes of its operands and results, each once, against a copy of tensors beyond any cache.
Which device ran which of the operators' tests: [devices](devices.md).
"""
# What is known of each group, whatever the device; figures of each follow.
REMARKS = {
    "products": """
        Halves are multiplied by cooperative matrices, f32 sums. What is left to NVIDIA's
        own library there are the matrix instructions of groups of four subgroups, which
        Vulkan does not offer. Products of f32 are blocks of 64 x 64, of 128 x 64 where there
        are very many, and of 32 x 64 whose depth two teams share where there are few
        (512 x 512, 197 rows): a part of the device is idle even so. Floats times a weight
        of bfloat16 are rounded to it on their way to the matrices.
    """,
    "rows": """
        A weight is read once, 16 bytes an invocation. Where columns are few a workgroup for
        each 16 or 32 of them is not enough to have all of memory's loads under way; with 8
        rows of halves arithmetic takes longer than loads. Numbers of 4 bits are multiplied in
        arithmetic of halves, two at a time; what loads and arithmetic wait for each other at
        the start and end of a call counts.
    """,
    "memory": """
        What reads and writes each number once; halves feel the few microseconds at the
        start and end of a call, which PyTorch's ten calls in a row hide in part. Transposes of
        halves move rows of 64 bytes.
    """,
    "attention": """
        Halves by cooperative matrices, rounded weights of values; f32 in registers. A few
        hundred keys leave most of the device idle.
    """,
    "convolutions": """
        Implicit products, by matrices in halves; of few input channels the depth runs over
        rows of the window. Small pictures have few blocks: sums are split within workgroups
        then.
    """,
    "networks": """
        With one image a network is a chain of calls, none of which fills the device, and
        each costs at least what a dispatch does. ms is the host's clock, inputs and outputs
        copied, GPU ms all dispatches together by the device's, from one timestamp before the
        first to one after the last; with 32 images the difference is the copy of 19 MB of
        inputs.
    """,
    "tuned networks": """
        The same with the kernels that `spirloom-run --tune` found fastest for each call,
        measured by itself, beside those that the operators' rules choose.
    """,
    "language models": """
        Tokens a second of a prompt of 512, and of 128 more one by one. A step is a chain of
        small calls: what a dispatch costs at least is a quarter of it at 4 bits.
    """,
}
CEILINGS = (
    ("write", "memory written", 1e-9, "GB/s"),
    ("read", "memory read", 1e-9, "GB/s"),
    ("copy", "memory copied, read and written", 1e-9, "GB/s"),
    ("cached_read", "cached reads", 1e-9, "GB/s"),
    ("shared_read", "shared memory read", 1e-9, "GB/s"),
    ("multiply_add", "f32 arithmetic", 1e-9, "GFLOP/s"),
    ("dispatch_ns", "a dispatch that waits for another", 1e-3, "us"),
)


def read_results(folder: Path) -> dict[str, Results]:
    """By name, the results of bench.py that there are. Raises BenchmarkFailed for a file without
    what a page cannot do without."""
    found: dict[str, Results] = {}
    for path in sorted(folder.glob("gpu-*.json")):
        results = json.loads(path.read_text(encoding="utf-8"))
        for part, key in NEEDED.items():
            if key not in results:
                raise BenchmarkFailed(
                    f"{path} has no {key}: python3 bench.py --out FILE --parts {part} adds them."
                )
        found[path.stem.removeprefix("gpu-")] = {"torch": {"missing": "not measured"}, **results}
    return found


def files(found: Mapping[str, Results]) -> dict[str, str]:
    """What follows from the results: texts by path below the repository."""
    made = {}
    sections = [INTRODUCTION]
    for name, results in found.items():
        made[f"docs/gpus-{name}.svg"] = draw(results)
        sections.append(section(name, results))
    made["docs/gpus.md"] = "\n".join(sections)
    return made


def section(name: str, results: Results) -> str:
    """A device's."""
    ceilings, torch = results["ceilings"], results["torch"]
    peer = (
        f"PyTorch {torch['version']}" if "version" in torch else f"no PyTorch: {torch['missing']}"
    )
    groups = dict.fromkeys(call["group"] for call in results["calls"])
    parts = [
        f"## {ceilings['device']}\n\n{ceilings['driver']}, {results['date']}, the least of "
        f"{results['times']} or more processes; {peer}.\n\n"
        f"![Share of the ceiling](gpus-{name}.svg)\n",
        ceilings_table(ceilings),
        *(chapter(group, calls_table(results, group)) for group in groups),
        chapter("networks", networks_table(results)),
        *([chapter("tuned networks", tuned_table(results))] if "tuned" in results else []),
        chapter("language models", language_table(results)),
    ]
    return "\n".join(parts)


def chapter(group: str, figures: str) -> str:
    """What is known of a group of calls, and its table."""
    remark = fill(" ".join(REMARKS[group].split()), 100)
    return f"### {group.capitalize()}\n\n{remark}\n\n{figures}"


def ceilings_table(ceilings: Mapping[str, Any]) -> str:
    """What the device does at most."""
    rows = ((words, figure(ceilings[key] * unit), name) for key, words, unit, name in CEILINGS)
    return table(("at most", "", "unit"), rows)


def share(call: Mapping[str, Any], seconds: float, ceilings: Mapping[str, Any]) -> float:
    """What part of the ceiling a call of that time reaches."""
    if is_of_arithmetic(call):
        return float(2 * call["multiply_adds"] / seconds / ceilings["multiply_add"])
    return float(call["bytes"] / seconds / ceilings["copy"])


def is_of_arithmetic(call: Mapping[str, Any]) -> bool:
    """Rather than of memory: a row times a matrix reads much and computes little."""
    return bool(call["multiply_adds"]) and call["group"] != "rows"


def calls_table(results: Results, group: str) -> str:
    """A row for each of a group's calls."""
    titles = ("call", "us", "rate", "of ceiling", "PyTorch us", "÷ Spirloom", "kernels")
    return table(
        titles, (row(results, call) for call in results["calls"] if call["group"] == group)
    )


def row(results: Results, call: Mapping[str, Any]) -> Sequence[str]:
    """The cells of a call."""
    found = results["call_times"][call["id"]]
    seconds = found["seconds"]
    rate = 2e-12 * call["multiply_adds"] / seconds, "TFLOP/s"
    if not is_of_arithmetic(call):
        rate = 1e-12 * call["bytes"] / seconds, "TB/s"
    peer = results["torch"].get("calls", {}).get(call["id"])
    return (
        in_words(call),
        figure(seconds * 1e6),
        f"{figure(rate[0])} {rate[1]}",
        percent(share(call, seconds, results["ceilings"])),
        "" if peer is None else figure(peer * 1e6),
        "" if peer is None else times(peer / seconds),
        found["kernels"],
    )


def in_words(call: Mapping[str, Any]) -> str:
    """`mm 512x512 512x512 f16`: without the last arguments where they are absent."""
    operator, arguments, _ = call["id"].split("/")
    name = operator.split(".")[1].lstrip("_")
    given = re.sub(r"( no( [a-z]+)+)+$", "", arguments.replace("_", " "))
    return f"{name} {given} {call['dtype']}"


def networks_table(results: Results) -> str:
    """A row for each network."""
    peers = results["torch"].get("networks", {})
    titles = (
        "network",
        "images",
        "dtype",
        "ms",
        "GPU ms",
        "dispatches",
        "PyTorch ms",
        "÷ Spirloom",
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
    """A row for each network: by the rule, and tuned."""
    titles = ("network", "images", "dtype", "rule ms", "tuned ms", "rule GPU ms", "tuned GPU ms",
              "rule ÷ tuned")  # fmt: skip
    rows = []
    for name in results["network_times"]:
        pairs = [
            (results[key][name]["seconds"], results["tuned"][key][name]["seconds"])
            for key in ("network_times", "network_gpu_times")
        ]
        shown = (milliseconds(seconds) for pair in pairs for seconds in pair)
        rule, tuned = pairs[1]
        rows.append((*name.rsplit("-", 2), *shown, times(rule / tuned)))
    return table(titles, rows)


def language_table(results: Results) -> str:
    """A row for each model."""
    titles = ("model", "weights", "prompt, tokens/s", "reply, tokens/s", "dispatches a token")
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
    """Shares of the ceilings, by call."""
    rows = []
    for call in results["calls"]:
        series = 0 if is_of_arithmetic(call) else 1
        seconds = results["call_times"][call["id"]]["seconds"]
        rows.append(Bars(in_words(call), {series: share(call, seconds, results["ceilings"]) * 100}))
    series_names = ("of multiply-adds", "of a copy")
    return chart(f"{results['ceilings']['device']}: share of the ceiling", series_names, rows, "%")
