"""The recorded calls to time: those that take most of the time of networks, and some of each
operator and kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spirloom import graph_file
from spirloom.described_devices import read_devices
from spirloom.kernel_selection import Selection, select
from spirloom.op_library import OpLibrary

from benchmarks.roofline.bound import Work, bound, work_of
from benchmarks.roofline.call import RecordedCall

MIN_SHAPES = 3  # of each operator, kernel and dtype
MAX_CALLS = 1000
MAX_BYTES = 2 << 30  # of all tensors of a call
DEVICE = "h100"  # the described device whose kernels are distinguished
# Nominal rates, for the order of calls: bytes/s, operations/s by dtype, seconds of a dispatch.
NOMINAL = {"bytes": 2.5e12, "f32": 5e13, "f16": 4e14, "dispatch": 2e-6}
_PACKING = "spirloom.pack_"
_BATCH = 500  # graphs of one process


@dataclass(frozen=True, slots=True)
class Candidate:
    """A recorded call with its work, the kernels that the described device selects, and an
    estimate of its seconds in all networks."""

    call: RecordedCall
    work: Work
    kernels: str
    weight: float


def candidates(
    calls: Sequence[RecordedCall], library: OpLibrary, device: str = DEVICE
) -> list[Candidate]:
    """The calls that dispatch kernels on the device, by descending weight."""
    made = [(call, call.graph(library)) for call in calls]
    graphs = [graph_file.to_bytes(graph) for _, graph in made]
    devices = {device: read_devices()[device]}
    kernels: list[str] = []
    for first in range(0, len(graphs), _BATCH):
        found = select(graphs[first : first + _BATCH], devices)[device].graphs
        kernels += [_kernels(each) for each in found]
    result = []
    for (call, graph), names in zip(made, kernels, strict=True):
        work = work_of(graph.nodes[-1], library)
        if names and sum(t.size for t in (*graph.inputs, *graph.outputs)) <= MAX_BYTES:
            seconds = bound(_members(call, work), NOMINAL)
            result.append(Candidate(call, work, names, seconds * max(call.count, 1)))
    return sorted(result, key=lambda each: (-each.weight, each.call.id))


def _kernels(selection: Selection) -> str:
    """The kernels of a run, without those that pack constants at load time."""
    names = (each.kernel for each in selection.dispatches if not each.op.startswith(_PACKING))
    return " ".join(names)


def _members(call: RecordedCall, work: Work) -> Mapping[str, Any]:
    return {"dtype": call.dtype, "multiply_adds": work.multiply_adds, "bytes": work.bytes}


def chosen(found: Sequence[Candidate], limit: int = MAX_CALLS) -> list[Candidate]:
    """At most `limit` of the candidates: first MIN_SHAPES of each operator, kernel and dtype, then
    those of the greatest weight. Sorted by descending weight."""
    counts: dict[tuple[str, str, str], int] = {}
    required: list[Candidate] = []
    others: list[Candidate] = []
    for each in found:
        key = each.call.op, each.kernels, each.call.dtype
        counts[key] = counts.get(key, 0) + 1
        (required if counts[key] <= MIN_SHAPES else others).append(each)
    kept = [*required, *others][:limit]
    return sorted(kept, key=lambda each: (-each.weight, each.call.id))
