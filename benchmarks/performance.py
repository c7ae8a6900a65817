"""docs/performance/index.md and its charts, from the results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.kernels import Peaks, read
from benchmarks.plot import Bars, chart
from benchmarks.reports import (
    PAGES,
    Results,
    conditions,
    network_times,
    page,
    share_of_peak,
)

INTRODUCTION = """\
# Performance

This page has the figures of a **software device** (llvmpipe, two CPU cores), which every change is
measured on. The other pages:

| page | content |
|---|---|
| [GPU performance](gpus.md) | kernels, networks and language models on real GPUs |
| [Roofline of all operators](roofline.md) | time that each call loses to its lower bound |
| [Kernels](kernels.md) | throughput of each template relative to the peak |
| [ExecuTorch](executorch.md) | programs of ExecuTorch with each backend |
| [Sizes](sizes.md) | bytes of the runtime, programs and shader libraries |
| [Imports](imports.md) | time and memory of importing models |
| [Shader toolchain](toolchain.md) | time to compile the shaders |

```{toctree}
:hidden:

gpus
roofline
kernels
executorch
sizes
imports
toolchain
```

## Method

    ./dev bench                     # all topics below, or those named
    ./dev bench networks --ncnn     # compare with ncnn (from PyPI, in .venv-ncnn)
    ./dev bench language --ggml     # compare with ggml (from PyPI, in .venv-ggml)

- The page and its charts are generated from the figures in `benchmarks/results/`; a test checks
  that they are current.
- **Peaks**: probe operators (`tools/peaks/`) measure arithmetic throughput and memory bandwidth
  first. A figure relative to its peak (a roofline) is comparable between machines.
- **Noise**: a figure is the minimum over several interleaved processes. CPU time is listed in
  addition to wall time, because other load on the machine disturbs it less. A busy machine is
  rejected; `--allow-busy` measures nevertheless, and the page reports it.

| topic | content |
|---|---|
| `networks` | network latency compared with the peak, PyTorch on the CPU, and ncnn; host time |
| `language` | prefill and decode throughput of a language model compared with ggml; only if named |
| `load` | latency from the file to the first result, with cold and warm caches |
| `contexts` | throughput and device idle time of 1, 2 and 4 execution contexts; only if named |
| `memory` | activation memory compared with the lower bound of any plan; process memory |
| `kernels` | throughput of each template relative to the peak: [kernels](kernels.md) |
| `toolchain` | cost of compiling the shaders: [toolchain](toolchain.md) |
"""


def read_results(folder: Path) -> dict[str, Results]:
    """The stored results by topic; topics without results are absent."""
    paths = {topic: folder / f"{topic}.json" for topic in PAGES}
    return {
        topic: json.loads(path.read_text(encoding="utf-8"))
        for topic, path in paths.items()
        if path.exists()
    }


def files(found: Mapping[str, Results]) -> dict[str, str]:
    """The generated files: text by path relative to the repository."""
    made = {f"benchmarks/results/{topic}.md": page(topic, r) for topic, r in found.items()}
    sections = [INTRODUCTION]
    for topic in ("networks", "language", "load", "contexts", "memory"):
        if topic not in found:
            continue
        title, body = PAGES[topic]
        text = f"\n## {title}\n\n{conditions(topic, found[topic])}\n"
        if topic in CHARTS:
            text += f"![{title}: fraction of the peak]({topic}.svg)\n\n"
        sections.append(text + body(found[topic]))
    for topic in CHARTS.keys() & found.keys():
        made[f"docs/performance/{topic}.svg"] = CHARTS[topic](found[topic])
    made["docs/performance/index.md"] = "".join(sections)
    return made


def draw_networks(results: Results) -> str:
    """A chart of the networks' fraction of the arithmetic peak."""
    peaks = Peaks.from_json(results["peaks"])
    rows = []
    for network in results["networks"]:
        found = network_times(network)
        work = 2 * network["multiply_adds"]
        rates = {
            i: found[program].rate(work, peaks.cores).of(peaks.operations).wall * 100
            for i, program in enumerate(("spirloom", "ncnn"))
            if program in found
        }
        rows.append(Bars(network["name"], rates))
    return chart(
        "Networks: fraction of peak arithmetic throughput", ("Spirloom", "ncnn"), rows, "%"
    )


def draw_kernels(results: Results) -> str:
    """A chart of the kernels' fraction of their peak, in descending order."""
    peaks, timed = read(results)
    shares = [(each, share_of_peak(each, peaks)) for each in timed]
    shares.sort(key=lambda item: (not item[0].call.multiply_adds, -item[1][1].wall))
    rows = [
        Bars(each.call.variant, {0 if unit == "GFLOP/s" else 1: share.wall * 100})
        for each, (_, share, unit) in shares
    ]
    series = ("of peak arithmetic", "of peak bandwidth")
    return chart("Kernels: fraction of the peak", series, rows, "%")


CHARTS = {"networks": draw_networks, "kernels": draw_kernels}
