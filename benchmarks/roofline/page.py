"""The page of rooflines in docs/performance/, from benchmarks/results/roofline-*.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.roofline.bound import bound, limit, rates_of
from benchmarks.tables import figure, percent, table, times

PAGE = "docs/performance/roofline.md"

Results = Mapping[str, Any]
ROWS = 150  # of the table of calls
INTRODUCTION = """\
# Roofline of all operators

Operator calls of published networks and the time that each loses to its lower bound. This page is
generated from `benchmarks/results/roofline-*.json`, which have all calls.

## Method

    ./dev bench gpu --roofline                # on this machine
    ./dev bundle --roofline                   # package for a machine with a GPU and Python 3.11
    python3 run.py --out roofline-NAME.json   # there, repeated until complete
    .venv/bin/python -m benchmarks pages      # with the file in benchmarks/results/: this page
    .venv-torch/bin/python -m benchmarks.roofline.collect            # record the calls again
    .venv/bin/python -m benchmarks.roofline.compare OLD.json NEW.json   # fails if a kernel slowed

- **Calls** are those of the optimized graphs of published architectures at their real sizes, in f32
  and f16: at least three shapes of each operator, kernel and dtype, then those that take most
  time. Operators that no network calls have the calls of their kernel benchmarks or test cases.
- **Time** is GPU time by timestamps. Inputs stay in device memory, so small calls may be served by
  caches and exceed their bound.
- **Bound** is the maximum of: bytes that the call must read and write over the bandwidth of a copy;
  operations over the arithmetic throughput; the latency of an empty dispatch. The throughput of a
  dtype is that of fp32 multiply-adds in registers or, if a call exceeds it, the highest of all
  calls, of PyTorch too.
- **Lost** is (time − bound) × the number of such calls in one run of all networks.
- **PyTorch** runs the operator of the same name, ten times in a CUDA graph, without activations and
  additions that Spirloom fuses.
- **Clock rate**: an idle GPU runs at a fraction of it. Before each call, the GPU is kept busy until
  a kernel of arithmetic takes its minimum time; in PyTorch, for 50 ms.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A timed call. Times are in seconds; `torch` None: PyTorch has no such operator."""

    call: Mapping[str, Any]
    seconds: float
    bound: float
    limit: str
    kernels: str
    torch: float | None

    @property
    def lost(self) -> float:
        """Seconds above the bound, in one run of all networks."""
        return max(0.0, self.seconds - self.bound) * float(self.call["count"])

    @property
    def share(self) -> float:
        """The fraction of the bound that is reached."""
        return self.bound / self.seconds


def read_results(folder: Path) -> dict[str, Results]:
    """The stored results by name of the device."""
    return {
        path.stem.removeprefix("roofline-"): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("roofline-*.json"))
    }


def rows_of(results: Results) -> list[Row]:
    """The timed calls, by descending time lost."""
    rates, torch = rates_of(results), results.get("torch", {}).get("calls", {})
    rows = []
    for call in results["calls"]:
        found = results["times"].get(call["id"], {})
        if "seconds" in found:
            least, what = bound(call, rates), limit(call, rates)
            peer = torch.get(call["id"])
            rows.append(Row(call, found["seconds"], least, what, found["kernels"], peer))
    return sorted(rows, key=lambda row: (-row.lost, row.call["id"]))


def files(found: Mapping[str, Results]) -> dict[str, str]:
    """The generated page: text by path relative to the repository."""
    sections = [INTRODUCTION, *(section(results) for results in found.values())]
    return {PAGE: "\n".join(sections)} if found else {}


def section(results: Results) -> str:
    """The section of a device."""
    rows, peaks = rows_of(results), results["peaks"]
    torch = results.get("torch", {})
    peer = f"PyTorch {torch['version']}" if "version" in torch else "not compared with PyTorch"
    failed = [name for name, each in results["times"].items() if "error" in each]
    rates = rates_of(results)
    missing = len(results["calls"]) - len(rows)
    text = (
        f"## {peaks['device']}\n\n{peaks['driver']}, {results['date']}; {peer}. {len(rows)} calls; "
        f"{missing} were not timed. Bandwidth {figure(rates['bytes'] * 1e-9)} GB/s, arithmetic "
        f"{figure(rates['f32'] * 1e-12)} TFLOP/s in f32 and {figure(rates['f16'] * 1e-12)} in f16, "
        f"empty dispatch {figure(rates['dispatch'] * 1e6)} µs.\n\n### Operators\n\n"
        "Over all calls of the operator: time and time lost in one run of all networks, and the "
        "lowest fraction of the bound.\n\n"
    )
    text += operators_table(rows)
    text += f"\n### Calls\n\nThe {min(ROWS, len(rows))} calls that lose most time.\n\n"
    text += calls_table(rows[:ROWS])
    if failed:
        text += "\n### Calls that failed\n\n"
        text += "".join(f"- `{name}`: {results['times'][name]['error']}\n" for name in failed)
    return text


def operators_table(rows: Iterable[Row]) -> str:
    """A row per operator and dtype, by descending time lost."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.call["op"], row.call["dtype"]), []).append(row)
    order = sorted(groups.items(), key=lambda item: -sum(row.lost for row in item[1]))
    titles = ("operator", "dtype", "calls timed", "ms", "lost ms", "of bound", "lowest",
              "PyTorch ÷ Spirloom, median")  # fmt: skip
    return table(titles, (_operator(name, group) for name, group in order))


def _operator(name: tuple[str, str], group: list[Row]) -> tuple[str, ...]:
    total = sum(row.seconds * row.call["count"] for row in group)
    least = sum(row.bound * row.call["count"] for row in group)
    ratios = sorted(row.torch / row.seconds for row in group if row.torch is not None)
    return (
        f"`{name[0]}`",
        name[1],
        str(len(group)),
        figure(total * 1e3),
        figure(sum(row.lost for row in group) * 1e3),
        percent(least / total) if total else "",
        percent(min(row.share for row in group)),
        times(ratios[len(ratios) // 2]) if ratios else "",
    )


def calls_table(rows: Iterable[Row]) -> str:
    """A row per call."""
    titles = ("call", "dtype", "count", "µs", "bound µs", "bound by", "of bound", "lost ms",
              "PyTorch ÷ Spirloom", "kernels")  # fmt: skip
    return table(
        titles,
        (
            (
                f"`{row.call['op']}` {_condensed(row.call['shapes'])}",
                row.call["dtype"],
                str(row.call["count"]),
                figure(row.seconds * 1e6),
                figure(row.bound * 1e6),
                row.limit,
                percent(row.share),
                figure(row.lost * 1e3),
                "" if row.torch is None else times(row.torch / row.seconds),
                _condensed(row.kernels),
            )
            for row in rows
        ),
    )


def _condensed(words: str) -> str:
    """The words, with `3 × word` for three consecutive equal ones."""
    counts = ((word, len(list(group))) for word, group in groupby(words.split()))
    return " ".join(word if count == 1 else f"{count} × {word}" for word, count in counts)
