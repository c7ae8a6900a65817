"""Kernel benchmarks: every template on call sizes of real networks, relative to device peaks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.calls import TABLES, Call, write_calls
from benchmarks.context import Context, Rate, Timing, run
from benchmarks.machine import cores
from benchmarks.work import VECTOR_BYTES

PROBES = ("multiply_add", "load", "stream")


@dataclass(frozen=True, slots=True)
class Timed:
    """A call and its minimum time."""

    call: Call
    time: Timing


@dataclass(frozen=True, slots=True)
class Peaks:
    """Device peaks per second: floating-point operations, vec4 loads from a cached buffer, and
    bytes of a sequential copy (read plus written); and the CPU cores to which rates by CPU time are
    scaled."""

    operations: Rate
    loads: Rate
    bytes: Rate
    cores: int

    @classmethod
    def of(cls, timed: Iterable[Timed]) -> Peaks:
        """The peaks measured by the probes among the calls."""
        probes = {each.call.family: each for each in timed if each.call.family in PROBES}
        arithmetic, load, stream = (probes[name] for name in PROBES)
        count = cores()
        return cls(
            arithmetic.time.rate(2 * arithmetic.call.multiply_adds, count),
            load.time.rate(load.call.bytes / VECTOR_BYTES, count),
            stream.time.rate(stream.call.bytes, count),
            count,
        )

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Peaks:
        """The inverse of asdict()."""
        operations, loads, sizes = (
            Rate(**found[name]) for name in ("operations", "loads", "bytes")
        )
        return cls(operations, loads, sizes, found["cores"])


def time_calls(context: Context, pack: Path, calls: Sequence[Call]) -> dict[str, Timing]:
    """Runs one process and returns the time of each call by id."""
    out = context.scratch / "kernels.json"
    run([context.program("spirloom-kernels"), pack, f"--benchmark_min_time={context.min_time}",
         f"--benchmark_out={out}", "--benchmark_out_format=json"])  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
    return {
        call.id: Timing(entry["min_gpu"], entry["min_cpu"])
        for call, entry in zip(calls, found, strict=True)
    }


def min_times(rounds: Iterable[Mapping[str, Timing]], calls: Sequence[Call]) -> list[Timed]:
    """The minimum over several processes."""
    found: dict[str, Timing] = {}
    for times in rounds:
        for name, time in times.items():
            found[name] = time.min_of(found.get(name, time))
    return [Timed(call, found[call.id]) for call in calls]


def measure(context: Context) -> dict[str, Any]:
    """The results as JSON values."""
    pack = context.scratch / "calls.slcases"
    calls = write_calls(pack, TABLES)
    timed = min_times((time_calls(context, pack, calls) for _ in range(context.times)), calls)
    return {
        "peaks": asdict(Peaks.of(timed)),
        "calls": [asdict(each) for each in timed if each.call.family not in PROBES],
    }


def read(results: Mapping[str, Any]) -> tuple[Peaks, list[Timed]]:
    """The peaks and calls in the results of measure()."""
    timed = [Timed(Call(**each["call"]), Timing(**each["time"])) for each in results["calls"]]
    return Peaks.from_json(results["peaks"]), timed
