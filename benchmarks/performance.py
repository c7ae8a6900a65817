"""docs/performance.md and its pictures, from the results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from benchmarks.kernels import Ceilings, read
from benchmarks.plot import Bars, chart
from benchmarks.reports import (
    PAGES,
    Results,
    conditions,
    network_times,
    page,
    share_of_ceiling,
)

INTRODUCTION = """\
# Performance

    ./dev bench                     # every topic below; or name some
    ./dev bench networks --ncnn     # beside ncnn, which it takes from PyPI into .venv-ncnn
    ./dev bench language --ggml     # beside ggml, which it builds from PyPI's into .venv-ggml

This page and its pictures are made from the figures in `benchmarks/results/` (a test compares
them). First come ceilings, by operators of their own (`tools/ceilings/`), so that figures can be
compared between machines; a figure is the least of several processes that take turns, and CPU time
stands beside it, which other work on the machine disturbs less. A busy machine is refused
(`--loaded` measures all the same, and the page says so).

| topic | question |
|---|---|
| `kernels` | how near each template (`benchmarks/kernels.yaml`) comes to what the device can do |
| `networks` | networks beside the ceiling, PyTorch on the CPU and ncnn; the host's share of a run |
| `load` | from the file to the first result, with cold and warm caches |
| `memory` | activation memory beside the least that any plan takes; the process's memory |
| `language` | a language model of 110 million parameters beside ggml; only if named |
| `toolchain` | what compiling the shaders costs: [toolchain](../benchmarks/results/toolchain.md) |

What the runtime and its shaders take: [sizes](../benchmarks/results/size.md).
"""


def read_results(folder: Path) -> dict[str, Results]:
    """The results there are, by topic."""
    paths = {topic: folder / f"{topic}.json" for topic in PAGES}
    return {
        topic: json.loads(path.read_text(encoding="utf-8"))
        for topic, path in paths.items()
        if path.exists()
    }


def files(found: Mapping[str, Results]) -> dict[str, str]:
    """What follows from the results: texts by path below the repository."""
    made = {f"benchmarks/results/{topic}.md": page(topic, r) for topic, r in found.items()}
    sections = [INTRODUCTION]
    for topic in ("networks", "language", "kernels", "load", "memory"):
        if topic not in found:
            continue
        title, body = PAGES[topic]
        text = f"\n## {title}\n\n{conditions(topic, found[topic])}\n"
        if topic in PICTURES:
            made[f"docs/performance-{topic}.svg"] = PICTURES[topic](found[topic])
            text += f"![{title} beside the ceiling](performance-{topic}.svg)\n\n"
        sections.append(text + body(found[topic]))
    made["docs/performance.md"] = "".join(sections)
    return made


def draw_networks(results: Results) -> str:
    """How much of the arithmetic ceiling networks reach."""
    ceilings = Ceilings.from_json(results["ceilings"])
    rows = []
    for network in results["networks"]:
        found = network_times(network)
        rates = {
            i: found[program].rate(2 * network["multiply_adds"]).of(ceilings.operations).wall * 100
            for i, program in enumerate(("spirloom", "ncnn"))
            if program in found
        }
        rows.append(Bars(network["name"], rates))
    return chart("Networks: share of the multiply-add ceiling", ("Spirloom", "ncnn"), rows, "%")


def draw_kernels(results: Results) -> str:
    """How much of their ceiling kernels reach, the best first."""
    ceilings, timed = read(results)
    shares = [(each, share_of_ceiling(each, ceilings)) for each in timed]
    shares.sort(key=lambda item: (not item[0].call.multiply_adds, -item[1][1].wall))
    rows = [
        Bars(each.call.variant, {0 if unit == "GFLOP/s" else 1: share.wall * 100})
        for each, (_, share, unit) in shares
    ]
    series = ("of multiply-adds", "of bandwidth")
    return chart("Kernels: share of the ceiling", series, rows, "%")


PICTURES = {"networks": draw_networks, "kernels": draw_kernels}
