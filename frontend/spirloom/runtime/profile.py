"""Time per dispatch of a run, and statistics of loading a model."""

from __future__ import annotations

import ctypes
import dataclasses
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, overload

import numpy as np

from spirloom.runtime import abi
from spirloom.runtime.device import Device
from spirloom.runtime.native import Handle, Native


@dataclass(frozen=True, slots=True)
class LoadStats:
    """Statistics of loading, or of the resize to the current shapes. Nanoseconds and bytes."""

    load_ns: int  # total load time
    pipeline_ns: int  # creating pipelines
    pipelines: int  # distinct ones
    dispatches: int  # per run
    barriers: int  # per run
    submissions: int  # per run: `max_submission_ms` divides long runs
    layout_copies: int  # inserted dispatches that change storage
    aliased_views: int  # nodes that became aliases
    constant_bytes: int  # packed weights on the device
    planned_bytes: int  # activation memory after planning
    naive_bytes: int  # activation memory without reuse
    live_bytes: int  # peak of live activations: the lower bound of any plan
    state_bytes: int  # states


def read_stats(library: Native, model: Handle) -> LoadStats:
    """The statistics of the current shapes."""
    stats: Any = abi.LoadStats.new()
    library.call("model_stats", model.value, ctypes.byref(stats))
    return LoadStats(*(getattr(stats, field.name) for field in fields(LoadStats)))


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One dispatch, with its times in all measured runs. Times in milliseconds."""

    node: str  # name of the node: "/features/0/Conv + Relu"
    op: str  # "aten.convolution"
    variant: str  # kernel variant: "conv2d_f32_buffer"
    grid: tuple[int, ...]  # requested invocations
    workgroup: tuple[int, ...]
    raw: tuple[float, ...]  # GPU time per run
    start: tuple[float, ...]  # start per run, relative to the run's first dispatch

    @property
    def avg(self) -> float:
        """The mean of the runs."""
        return float(np.mean(self.raw))

    @property
    def min(self) -> float:
        """The fastest run."""
        return min(self.raw)

    @property
    def max(self) -> float:
        """The slowest run."""
        return max(self.raw)

    def percentile(self, percent: float) -> float:
        """The percentile over the runs."""
        return float(np.percentile(self.raw, percent))


@dataclass(frozen=True, slots=True)
class Profile(Sequence[ProfileRow]):
    """The dispatches of a model in execution order."""

    name: str
    rows: tuple[ProfileRow, ...]
    device: Device | None = None

    @overload
    def __getitem__(self, i: int) -> ProfileRow: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[ProfileRow]: ...
    def __getitem__(self, i: int | slice) -> ProfileRow | Sequence[ProfileRow]:
        return self.rows[i]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ProfileRow]:
        return iter(self.rows)

    @property
    def total(self) -> float:
        """Sum of the mean dispatch times in milliseconds."""
        return sum(row.avg for row in self.rows)

    def __str__(self) -> str:
        lines = ["      ms      %  variant  (node)"]
        total = self.total or 1.0
        for row in sorted(self.rows, key=lambda row: -row.avg):
            share = 100 * row.avg / total
            lines.append(f"{row.avg:8.3f}  {share:5.1f}  {row.variant}  ({row.node})")
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str], model: str = "") -> None:
        """Writes a profile file (.slprof), or adds the runs to one of the same dispatches.

        `spirloom profile` reads it. `model` is the name to show. To also record reasons, bytes and
        memory, write the file first with spirloom-run --profile-out, then add runs. Raises
        ImportFailure if the file is another profile or cannot be written.
        """
        from spirloom.profile_file import add_runs

        add_runs(Path(path), self._members(model))

    def _members(self, model: str) -> dict[str, Any]:
        runs = len(self.rows[0].raw) if self.rows else 0
        ends = [
            max(row.start[i] + row.raw[i] for row in self.rows) if self.rows else 0.0
            for i in range(runs)
        ]
        return {
            "format": "spirloom-profile",
            "version": 1,
            "producer": "spirloom.Profile",
            "model": {"file": model, "method": self.name},
            "device": {
                "name": self.device.name if self.device else "",
                "driver": self.device.driver if self.device else "",
                "type": self.device.type if self.device else "",
            },
            "dispatches": [_facts(row) for row in self.rows],
            "tensors": [],
            "samples": {
                "runs": runs,
                "gpu_ns": list(map(_nanoseconds, ends)),
                "host_ns": [],
                "dispatch_ns": [list(map(_nanoseconds, row.raw)) for row in self.rows],
            },
            "timeline": {
                "host": [],
                "queue_start_ns": 0,
                "queue": [
                    {
                        "dispatch": i,
                        "start_ns": _nanoseconds(row.start[-1]),
                        "ns": _nanoseconds(row.raw[-1]),
                    }
                    for i, row in enumerate(self.rows)
                ],
            },
        }

    def to_dataframe(self, include_units: bool = False) -> Any:
        """A pandas.DataFrame with the columns of ExecuTorch's Inspector. Times in milliseconds."""
        import pandas  # type: ignore[import]

        return pandas.DataFrame([self._event(row, include_units) for row in self.rows])

    def _event(self, row: ProfileRow, include_units: bool) -> dict[str, object]:
        units = " (ms)" if include_units else ""
        times = {f"p{percent}": row.percentile(percent) for percent in (10, 50, 90)}
        times |= {"avg": row.avg, "min": row.min, "max": row.max}
        return {
            "event_block_name": self.name,
            "event_name": row.variant,
            "raw": list(row.raw),
            **{name + units: time for name, time in times.items()},
            "op_types": [row.op],
            "delegate_debug_identifier": row.node,
            "stack_traces": {},
            "module_hierarchy": {},
            "is_delegated_op": True,
            "delegate_backend_name": "Spirloom",
            "debug_data": [],
            "start_time": list(row.start),
        }


def _nanoseconds(ms: float) -> int:
    return round(ms * 1e6)


def _facts(row: ProfileRow) -> dict[str, Any]:
    return {
        "node": row.node,
        "op": row.op,
        "kernel": "",
        "variant": row.variant,
        "storage": "",
        "grid": list(row.grid),
        "workgroup": list(row.workgroup),
        "reads": [],
        "writes": [],
        "bytes_read": 0,
        "bytes_written": 0,
        "operations": 0,
        "reason": "",
        "considered": [],
    }


def last_run(library: Native, model: Handle) -> tuple[ProfileRow, ...]:
    """The dispatches of the last completed run."""
    profile = library.make("model_profile", "profile_destroy", model.value)
    rows = []
    for i in range(library.function("profile_count")(profile.value)):
        info: Any = abi.DispatchInfo.new()
        library.call("profile_get", profile.value, i, ctypes.byref(info))
        rows.append(
            ProfileRow(
                node=info.node.decode(errors="replace"),
                op=info.op.decode(errors="replace"),
                variant=info.variant.decode(errors="replace"),
                grid=tuple(info.grid),
                workgroup=tuple(info.workgroup),
                raw=(info.gpu_ns / 1e6,),
                start=(info.start_ns / 1e6,),
            )
        )
    return tuple(rows)


def merged(
    name: str, runs: Sequence[tuple[ProfileRow, ...]], device: Device | None = None
) -> Profile:
    """Combines several runs of one model into one profile."""
    rows = []
    for same in zip(*runs, strict=True):
        raw = tuple(time for row in same for time in row.raw)
        start = tuple(time for row in same for time in row.start)
        rows.append(dataclasses.replace(same[0], raw=raw, start=start))
    return Profile(name, tuple(rows), device)
