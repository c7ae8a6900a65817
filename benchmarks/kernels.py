"""Every kernel family on calls of the size that networks make, beside what the device can do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.calls import TABLES, Call, write_calls
from benchmarks.context import Context, Rate, Timing, run
from benchmarks.work import VECTOR_BYTES

PROBES = ("multiply_add", "load", "stream")


@dataclass(frozen=True, slots=True)
class Timed:
    """A call and its least time."""

    call: Call
    time: Timing


@dataclass(frozen=True, slots=True)
class Ceilings:
    """The most a device does in a second: floating-point operations, loads of a vec4 out of a
    cached buffer, and bytes read and written in order."""

    operations: Rate
    loads: Rate
    bytes: Rate

    @classmethod
    def of(cls, timed: Iterable[Timed]) -> Ceilings:
        """From the probes among the calls."""
        probes = {each.call.family: each for each in timed if each.call.family in PROBES}
        arithmetic, load, stream = (probes[name] for name in PROBES)
        return cls(
            arithmetic.time.rate(2 * arithmetic.call.multiply_adds),
            load.time.rate(load.call.bytes / VECTOR_BYTES),
            stream.time.rate(stream.call.bytes),
        )

    @classmethod
    def from_json(cls, found: Mapping[str, Mapping[str, float]]) -> Ceilings:
        """As asdict() wrote them."""
        return cls(*(Rate(**found[name]) for name in ("operations", "loads", "bytes")))


def time_calls(context: Context, pack: Path, calls: Sequence[Call]) -> dict[str, Timing]:
    """One process: the time of each call, by id."""
    out = context.scratch / "kernels.json"
    run([context.program("spirloom-kernels"), pack, f"--benchmark_min_time={context.min_time}",
         f"--benchmark_out={out}", "--benchmark_out_format=json"])  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
    return {
        call.id: Timing(entry["least_gpu"], entry["least_cpu"])
        for call, entry in zip(calls, found, strict=True)
    }


def least_times(rounds: Iterable[Mapping[str, Timing]], calls: Sequence[Call]) -> list[Timed]:
    """The least of several processes."""
    least: dict[str, Timing] = {}
    for times in rounds:
        for name, time in times.items():
            least[name] = time.least(least.get(name, time))
    return [Timed(call, least[call.id]) for call in calls]


def measure(context: Context) -> dict[str, Any]:
    """The results as JSON values."""
    pack = context.scratch / "calls.slcases"
    calls = write_calls(pack, TABLES)
    timed = least_times((time_calls(context, pack, calls) for _ in range(context.times)), calls)
    return {
        "ceilings": asdict(Ceilings.of(timed)),
        "calls": [asdict(each) for each in timed if each.call.family not in PROBES],
    }


def read(results: Mapping[str, Any]) -> tuple[Ceilings, list[Timed]]:
    """What measure() gave."""
    timed = [Timed(Call(**each["call"]), Timing(**each["time"])) for each in results["calls"]]
    return Ceilings.from_json(results["ceilings"]), timed
