"""Tables of a profile: by dispatch, by kernel, and the memory at its peak."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from spirloom.profile_file import Dispatch, Peaks, ProfileFile, TensorRecord, percentile
from spirloom.terminal import bytes_text, shown

# The length of names in tables, by default.
NAME_LENGTH = 40


def shortened(text: str, length: int) -> str:
    """The text, without its middle if it is longer: names of nodes differ at both ends."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def text_table(heading: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines with aligned columns; the first `left` columns are text, the others numbers."""
    cells = [list(heading), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heading))]

    def line(row: Sequence[str]) -> str:
        aligned = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(aligned).rstrip()

    return [line(row) for row in cells]


def milliseconds(ns: float) -> str:
    """Example: 0.125."""
    return f"{ns / 1e6:.3f}"


def roofline_percent(dispatch: Dispatch, peaks: Peaks | None) -> float | None:
    """The lower bound of the roofline in percent of the fastest time; None if unknown."""
    work = dispatch.bytes_read + dispatch.bytes_written
    if peaks is None or not dispatch.min or not work:
        return None
    return 100 * peaks.bound(dispatch) / dispatch.min


def dispatch_row(profile: ProfileFile, index: int) -> dict[str, Any]:
    """The facts of a dispatch for programs: times in ms, sizes in bytes."""
    dispatch = profile.dispatches[index]
    return {
        "dispatch": index,
        "node": dispatch.node,
        "op": dispatch.op,
        "kernel": dispatch.kernel,
        "variant": dispatch.variant,
        "storage": dispatch.storage,
        "reason": dispatch.reason,
        "runs": len(dispatch.times),
        "min_ms": dispatch.min / 1e6,
        "median_ms": dispatch.median / 1e6,
        "p90_ms": dispatch.p90 / 1e6,
        "percent": _percent(dispatch.median, profile.total),
        "bytes_read": dispatch.bytes_read,
        "bytes_written": dispatch.bytes_written,
        "operations": dispatch.operations,
        "roofline_percent": roofline_percent(dispatch, profile.peaks),
    }


def as_json(profile: ProfileFile) -> dict[str, Any]:
    """The profile's summary and rows as JSON values."""
    return {
        "model": profile.model,
        "method": profile.method,
        "device": profile.device,
        "driver": profile.driver,
        "runs": profile.runs,
        "gpu_min_ms": min(profile.gpu_ns, default=0) / 1e6,
        "gpu_median_ms": percentile(profile.gpu_ns, 50) / 1e6,
        "host_min_ms": min(profile.host_ns, default=0) / 1e6,
        "host_median_ms": percentile(profile.host_ns, 50) / 1e6,
        "memory": dict(profile.memory),
        "dispatches": [dispatch_row(profile, i) for i in range(len(profile.dispatches))],
    }


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def to_text(profile: ProfileFile, limit: int, sort: str, wide: bool = False) -> str:
    """The summary, the dispatches (slowest first, or in order), the kernels, and the memory. Names
    are shortened unless `wide`.
    """
    length = sys.maxsize if wide else NAME_LENGTH
    total = profile.total
    lines = [
        f"model   {shown(profile.model)}"
        + (f", method {shown(profile.method)}" if profile.method else ""),
        f"device  {shown(profile.device)}, {shown(profile.driver)}",
        f"runs    {profile.runs}: GPU min {milliseconds(min(profile.gpu_ns, default=0))} ms, "
        f"median {milliseconds(percentile(profile.gpu_ns, 50))} ms; with copies and submission "
        f"median {milliseconds(percentile(profile.host_ns, 50))} ms",
        "",
    ]
    order = list(range(len(profile.dispatches)))
    if sort == "time":
        order.sort(key=lambda i: -profile.dispatches[i].median)
    shown_rows = order[:limit] if limit else order
    heading = ["#", "node", "op", "variant", "min", "median", "p90", "%", "moved", "roofline %"]
    rows = [_row(profile, i, total, length) for i in shown_rows]
    lines += text_table(heading, rows, left=4)
    if len(order) > len(shown_rows):
        rest = sum(profile.dispatches[i].median for i in order[len(shown_rows) :])
        lines.append(
            f"and {len(order) - len(shown_rows)} more dispatches, {milliseconds(rest)} ms; --all "
            "lists them"
        )
    lines += ["", *_kernels(profile, total, length)]
    if profile.peaks is None and any(d.bytes_read for d in profile.dispatches):
        lines += ["", "The peaks of the device are unknown. Measure them once with `spirloom-run "
                  "--peaks`, then record again."]  # fmt: skip
    memory = memory_lines(profile)
    return "\n".join([*lines, *([""] if memory else []), *memory])


def _row(profile: ProfileFile, index: int, total: int, length: int) -> list[str]:
    dispatch = profile.dispatches[index]
    moved = dispatch.bytes_read + dispatch.bytes_written
    share = roofline_percent(dispatch, profile.peaks)
    return [
        str(index),
        *(shortened(name, length) for name in (dispatch.node, dispatch.op, dispatch.variant)),
        *map(milliseconds, (dispatch.min, dispatch.median, dispatch.p90)),
        f"{_percent(dispatch.median, total):.1f}",
        bytes_text(moved) if moved else "",
        "" if share is None else f"{share:.0f}",
    ]


def _kernels(profile: ProfileFile, total: int, length: int) -> list[str]:
    found: dict[tuple[str, str], list[Dispatch]] = defaultdict(list)
    for dispatch in profile.dispatches:
        found[dispatch.op, dispatch.variant].append(dispatch)
    sums = {key: sum(each.median for each in own) for key, own in found.items()}
    rows = [
        [
            *(shortened(name, length) for name in key),
            *(str(len(found[key])), milliseconds(sums[key])),
            f"{_percent(sums[key], total):.1f}",
        ]
        for key in sorted(found, key=lambda key: -sums[key])
    ]
    return text_table(["op", "variant", "dispatches", "ms", "%"], rows, left=2)


def peak_step(tensors: Sequence[TensorRecord], steps: int) -> tuple[int, int]:
    """The dispatch at which the most bytes of activations are live, and these bytes."""
    change = [0] * (steps + 1)
    for tensor in tensors:
        if tensor.block >= 0 and tensor.first < steps:
            change[tensor.first] += tensor.allocated
            change[min(tensor.last + 1, steps)] -= tensor.allocated
    best = (0, 0)
    live = 0
    for step in range(steps):
        live += change[step]
        best = max(best, (live, -step))
    return -best[1], best[0]


def live_at(tensors: Sequence[TensorRecord], step: int) -> list[TensorRecord]:
    """The activations that are live at a dispatch, largest first."""
    live = [t for t in tensors if t.block >= 0 and t.first <= step <= t.last]
    return sorted(live, key=lambda tensor: -tensor.allocated)


def memory_lines(profile: ProfileFile) -> list[str]:
    """The memory of activations, and the tensors that are live at its peak."""
    if not profile.memory or not profile.dispatches:
        return []
    step, peak = peak_step(profile.tensors, len(profile.dispatches))
    memory = profile.memory
    lines = [
        f"memory: constants {bytes_text(memory['constant_bytes'])}, states "
        f"{bytes_text(memory['state_bytes'])}, activations {bytes_text(memory['planned_bytes'])} "
        f"({bytes_text(memory['naive_bytes'])} without sharing)"
    ]
    if not peak:
        return lines
    lines.append(
        f"peak of live activations: {bytes_text(peak)} at dispatch {step} "
        f"({shown(profile.dispatches[step].node)})"
    )
    rows = [
        [t.name, t.dtype, "×".join(map(str, t.shape)), t.storage, bytes_text(t.allocated),
         f"{t.first}–{t.last}"]
        for t in live_at(profile.tensors, step)[:8]
    ]  # fmt: skip
    return [*lines, *text_table(["tensor", "dtype", "shape", "storage", "size", "live"], rows, 4)]
