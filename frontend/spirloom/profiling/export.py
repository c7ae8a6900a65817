"""Profiles in other formats: a Chrome trace, which Perfetto reads too, and CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from spirloom.profile_file import ProfileFile
from spirloom.profiling.tables import dispatch_row

# Rows of the trace: process and thread ids.
_HOST, _QUEUE, _MEMORY = (1, 1), (1, 2), (1, 3)


def trace(profile: ProfileFile) -> dict[str, Any]:
    """A Chrome trace of the last run: host, queue, and a counter of live activation bytes. Times in
    microseconds. Perfetto (https://ui.perfetto.dev) and chrome://tracing open it.
    """
    events = [
        _metadata("process_name", _HOST, f"{profile.model} on {profile.device}"),
        _metadata("thread_name", _HOST, "host"),
        _metadata("thread_name", _QUEUE, "queue"),
    ]
    for phase in profile.host:
        events.append(_event(phase.name, "host", _HOST, phase.start, phase.ns, {}))
    for phase in profile.queue:
        index = int(phase.name)
        if index >= len(profile.dispatches):
            continue
        row = dispatch_row(profile, index)
        arguments = {key: value for key, value in row.items() if value not in ("", None)}
        events.append(_event(row["node"], "dispatch", _QUEUE, phase.start, phase.ns, arguments))
        live = sum(
            t.allocated for t in profile.tensors if t.block >= 0 and t.first <= index <= t.last
        )
        if profile.tensors:
            events.append({"ph": "C", "pid": _MEMORY[0], "tid": _MEMORY[1],
                           "name": "live activations", "ts": phase.start / 1e3,
                           "args": {"bytes": live}})  # fmt: skip
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _metadata(what: str, row: tuple[int, int], name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": row[0], "tid": row[1], "name": what, "args": {"name": name}}


def _event(
    name: str, category: str, row: tuple[int, int], start: int, ns: int, arguments: dict[str, Any]
) -> dict[str, Any]:
    return {"ph": "X", "pid": row[0], "tid": row[1], "name": name, "cat": category,
            "ts": start / 1e3, "dur": ns / 1e3, "args": arguments}  # fmt: skip


def trace_text(profile: ProfileFile) -> str:
    """The trace as JSON."""
    return json.dumps(trace(profile)) + "\n"


def csv_text(profile: ProfileFile) -> str:
    """A line per dispatch in order, with the columns of dispatch_row()."""
    stream = io.StringIO()
    rows = [dispatch_row(profile, i) for i in range(len(profile.dispatches))]
    writer = csv.DictWriter(stream, list(rows[0]) if rows else ["dispatch"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()
