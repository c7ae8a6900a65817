"""Profile files (.slprof): the dispatches of a model, and their times in all recorded runs.

The format is JSON (page 'File formats' of the documentation, Profile). spirloom-run --profile-out
and Profile.save() write it. Readers check every member: a file may come from anywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_model.files import open_regular, write_atomically
from spirloom.errors import ImportFailure, reading, writing
from spirloom.json_values import Json

FORMAT = "spirloom-profile"
VERSION = 1
KEPT_RUNS = 1000  # times of older runs are dropped


def percentile(times: Sequence[int], percent: float) -> int:
    """The smallest time that is at least as large as `percent` % of the times; 0 without times."""
    if not times:
        return 0
    ordered = sorted(times)
    return ordered[max(math.ceil(len(ordered) * percent / 100) - 1, 0)]


@dataclass(frozen=True, slots=True)
class Trial:
    """A kernel that was considered for a call, as in kernel_selection.Trial."""

    kernel: str
    result: str
    reason: str
    preferred: bool


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One dispatch of a run. Sizes in bytes, times in nanoseconds, one per recorded run.

    `reads` and `writes` are ids of tensors. `operations` is an estimate, two per multiply-add.
    Files of Profile.save() have no tensors, bytes, operations and reasons.
    """

    node: str
    op: str
    kernel: str
    variant: str
    storage: str
    grid: tuple[int, ...]
    workgroup: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    bytes_read: int
    bytes_written: int
    operations: float
    reason: str
    considered: tuple[Trial, ...]
    statistics: Mapping[str, str]  # of the compiled pipeline, by the driver's names
    times: tuple[int, ...]

    @property
    def min(self) -> int:
        """The time of the fastest run; 0 without runs."""
        return min(self.times, default=0)

    @property
    def median(self) -> int:
        """The median of the runs (the lower one of two)."""
        return percentile(self.times, 50)

    @property
    def p90(self) -> int:
        """The 90th percentile of the runs."""
        return percentile(self.times, 90)


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor that a dispatch accesses. `role`: input, output, state, constant or activation.

    An activation occupies `allocated` bytes of memory block `block` from `offset` on, from dispatch
    `first` to dispatch `last`; other tensors, and those that share the memory of the tensor
    `alias_of`, have no block (-1).
    """

    id: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    storage: str
    bytes: int
    role: str
    alias_of: int
    block: int
    offset: int
    allocated: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Peaks:
    """Measured peaks of the device (spirloom-run --peaks), in bytes and operations per second."""

    read: float
    write: float
    multiply_add: float
    dispatch_ns: float

    def bound(self, dispatch: Dispatch) -> float:
        """The roofline's lower bound of a dispatch's time, in nanoseconds."""
        memory = dispatch.bytes_read / self.read + dispatch.bytes_written / self.write
        return 1e9 * max(memory, dispatch.operations / self.multiply_add)


@dataclass(frozen=True, slots=True)
class Phase:
    """An interval of the last run: a phase of the host, or dispatch number `name` of the queue.
    Times in nanoseconds from the start of the run.
    """

    name: str
    start: int
    ns: int


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """The contents of a profile. `gpu_ns` and `host_ns` are times of complete runs."""

    path: Path
    model: str
    method: str
    device: str
    driver: str
    runs: int
    gpu_ns: tuple[int, ...]
    host_ns: tuple[int, ...]
    dispatches: tuple[Dispatch, ...]
    tensors: tuple[TensorRecord, ...]
    memory: Mapping[str, int]
    peaks: Peaks | None
    host: tuple[Phase, ...]
    queue: tuple[Phase, ...]

    @property
    def total(self) -> int:
        """The sum of the dispatches' median times in nanoseconds."""
        return sum(dispatch.median for dispatch in self.dispatches)


def read_profile(path: Path) -> ProfileFile:
    """Reads and checks a file. Raises ImportFailure."""
    members = Json(read_json(path), str(path), remedy="Record it again.")
    samples = members.get("samples")
    times = samples.get("dispatch_ns").items()
    dispatches = members.get("dispatches").items()
    if len(times) != len(dispatches):
        raise ImportFailure(
            f"{path} is damaged: it has {len(dispatches)} dispatches, and times of {len(times)}."
        )
    timeline = members.find("timeline")
    device, model = members.get("device"), members.get("model")
    memory, peaks = members.find("memory"), members.find("peaks")
    start = 0 if timeline is None else timeline.get("queue_start_ns").integer(-1)
    return ProfileFile(
        path=path,
        model=model.get("file").text(),
        method=model.get("method").text(),
        device=device.get("name").text(),
        driver=device.get("driver").text(),
        runs=samples.get("runs").integer(-1),
        gpu_ns=samples.get("gpu_ns").integers(),
        host_ns=samples.get("host_ns").integers(),
        dispatches=tuple(
            _dispatch(each, own.integers())
            for each, own in zip(dispatches, times, strict=True)
        ),
        tensors=tuple(map(_tensor, members.get("tensors").items())),
        memory={} if memory is None else {n: memory.get(n).integer(-1) for n in _MEMORY},
        peaks=None if peaks is None else _peaks(peaks),
        host=() if timeline is None else tuple(map(_phase, timeline.get("host").items())),
        queue=()
        if timeline is None
        else tuple(
            Phase(str(each.get("dispatch").integer(-1)), start + each.get("start_ns").integer(-1),
                  each.get("ns").integer(-1))
            for each in timeline.get("queue").items()
        ),
    )  # fmt: skip


def read_json(path: Path) -> dict[str, Any]:
    """The members of a profile of this version. Raises ImportFailure."""
    try:
        with reading(path), open_regular(path) as stream:
            found = json.load(stream)
    except (ValueError, RecursionError) as error:
        raise ImportFailure(f"{path} is not a profile: it is not JSON.") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ImportFailure(
            f"{path} is not a profile. Record one: spirloom-run MODEL.slg --random --repeat 20 "
            "--profile-out FILE.slprof."
        )
    if found.get("version") != VERSION:
        raise ImportFailure(
            f"{path} is a profile of version {found.get('version')!r}; this program reads version "
            f"{VERSION}. Record it again."
        )
    return found


_MEMORY = ("planned_bytes", "live_bytes", "naive_bytes", "constant_bytes", "state_bytes")


def _dispatch(members: Json, times: tuple[int, ...]) -> Dispatch:
    statistics = members.find("statistics")
    return Dispatch(
        node=members.get("node").text(),
        op=members.get("op").text(),
        kernel=members.get("kernel").text(),
        variant=members.get("variant").text(),
        storage=members.get("storage").text(),
        grid=members.get("grid").integers(),
        workgroup=members.get("workgroup").integers(),
        reads=members.get("reads").integers(),
        writes=members.get("writes").integers(),
        bytes_read=members.get("bytes_read").integer(-1),
        bytes_written=members.get("bytes_written").integer(-1),
        operations=members.get("operations").number(),
        reason=members.get("reason").text(),
        considered=tuple(
            Trial(each.get("kernel").text(), each.get("result").text(), each.get("reason").text(),
                  each.get("preferred").typed(bool))
            for each in members.get("considered").items()
        ),
        statistics={} if statistics is None else {k: v.text() for k, v in statistics.entries()},
        times=times,
    )  # fmt: skip


def _optional(members: Json, name: str, default: int) -> int:
    found = members.find(name)
    return default if found is None else found.integer(-1)


def _tensor(members: Json) -> TensorRecord:
    return TensorRecord(
        id=members.get("id").integer(-1),
        name=members.get("name").text(),
        dtype=members.get("dtype").text(),
        shape=members.get("shape").integers(),
        storage=members.get("storage").text(),
        bytes=members.get("bytes").integer(-1),
        role=members.get("role").text(),
        alias_of=_optional(members, "alias_of", -1),
        block=_optional(members, "block", -1),
        offset=_optional(members, "offset", 0),
        allocated=_optional(members, "allocated", 0),
        first=_optional(members, "first", 0),
        last=_optional(members, "last", 0),
    )


def _peaks(members: Json) -> Peaks | None:
    values = [
        members.get(name).number() for name in ("read", "write", "multiply_add", "dispatch_ns")
    ]
    return Peaks(*values) if all(values[:3]) else None


def _phase(members: Json) -> Phase:
    return Phase(
        members.get("name").text(),
        members.get("start_ns").integer(-1),
        members.get("ns").integer(-1),
    )


def add_runs(path: Path, new: Mapping[str, Any]) -> None:
    """Writes the profile `new`, with the members of the format, to a file.

    If the file is a profile of the same dispatches on the same device, it keeps its facts and gets
    the new runs. Raises ImportFailure if it is another profile, or cannot be written.
    """
    written = dict(new)
    if path.exists():
        written = _accumulated(path, read_json(path), new)
    with writing(path):
        write_atomically(path, f"{json.dumps(written)}\n".encode())


_IDENTITY = ("node", "op", "variant", "grid", "workgroup")


def _accumulated(path: Path, old: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    read_profile(path)  # checks the members
    sides = [
        [tuple(map(str, (each[key] for key in _IDENTITY))) for each in side["dispatches"]]
        for side in (old, new)
    ]
    if sides[0] != sides[1] or old["device"]["name"] != new["device"]["name"]:
        raise ImportFailure(
            f"'{path}' is the profile of another model, device or plan. Delete it, or write to "
            "another file."
        )
    before, now = old["samples"], new["samples"]

    def joined(a: list[int], b: list[int]) -> list[int]:
        return [*a, *b][-KEPT_RUNS:]

    samples = {
        "runs": before["runs"] + now["runs"],
        "gpu_ns": joined(before["gpu_ns"], now["gpu_ns"]),
        "host_ns": joined(before["host_ns"], now["host_ns"]),
        "dispatch_ns": [
            joined(a, b) for a, b in zip(before["dispatch_ns"], now["dispatch_ns"], strict=True)
        ],
    }
    return {**old, "samples": samples, "timeline": new["timeline"]}
