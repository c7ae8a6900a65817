"""Profile files (.slprof): the dispatches of a model, and their times in all recorded runs.

The format is JSON (docs/reference/file-formats.md, Profile). spirloom-run --profile-out and
Profile.save() write it. Readers check every member: a file may come from anywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_model.files import open_regular
from spirloom.errors import ImportFailure, reading, writing

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
    members = _Members(read_json(path), str(path), "")
    samples = members.object("samples")
    times = samples.values("dispatch_ns")
    dispatches = members.objects("dispatches")
    if len(times) != len(dispatches):
        raise ImportFailure(
            f"{path} is damaged: it has {len(dispatches)} dispatches, and times of {len(times)}."
        )
    timeline = members.object("timeline") if "timeline" in members else None
    device, model = members.object("device"), members.object("model")
    start = 0 if timeline is None else timeline.integer("queue_start_ns")
    return ProfileFile(
        path=path,
        model=model.text("file"),
        method=model.text("method"),
        device=device.text("name"),
        driver=device.text("driver"),
        runs=samples.integer("runs"),
        gpu_ns=samples.integers("gpu_ns"),
        host_ns=samples.integers("host_ns"),
        dispatches=tuple(
            _dispatch(each, samples.checked_integers(times[i], f"dispatch_ns[{i}]"))
            for i, each in enumerate(dispatches)
        ),
        tensors=tuple(map(_tensor, members.objects("tensors"))),
        memory={name: members.object("memory").integer(name) for name in _MEMORY}
        if "memory" in members
        else {},
        peaks=_peaks(members.object("peaks")) if "peaks" in members else None,
        host=() if timeline is None else tuple(map(_phase, timeline.objects("host"))),
        queue=()
        if timeline is None
        else tuple(
            Phase(str(each.integer("dispatch")), start + each.integer("start_ns"),
                  each.integer("ns"))
            for each in timeline.objects("queue")
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


class _Members:
    """The members of a JSON object, each read with the check of its type."""

    def __init__(self, members: Any, file: str, where: str) -> None:
        self._file, self._where = file, where
        if not isinstance(members, dict):
            raise self._damaged("", "an object", members)
        self._members = members

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def _damaged(self, name: str, expected: str, found: object) -> ImportFailure:
        path = f"{self._where}{name}".rstrip(".") or "the file"
        kind = "nothing" if found is None else type(found).__name__
        return ImportFailure(
            f"{self._file} is damaged: '{path}' must be {expected}; found {kind}. Record it again."
        )

    def _get(self, name: str, kinds: tuple[type, ...], expected: str) -> Any:
        value = self._members.get(name)
        if not isinstance(value, kinds) or isinstance(value, bool) != (kinds == (bool,)):
            raise self._damaged(name, expected, value)
        return value

    def text(self, name: str) -> str:
        found: str = self._get(name, (str,), "a text")
        return found

    def texts(self) -> dict[str, str]:
        """All members, which must be texts."""
        return {name: self.text(name) for name in self._members}

    def flag(self, name: str) -> bool:
        found: bool = self._get(name, (bool,), "true or false")
        return found

    def integer(self, name: str, default: int | None = None) -> int:
        if default is not None and name not in self._members:
            return default
        found: int = self._get(name, (int,), "an integer")
        if not -1 <= found < 1 << 63:
            raise self._damaged(name, "a nonnegative integer of 64 bits", found)
        return found

    def number(self, name: str) -> float:
        found = float(self._get(name, (int, float), "a number"))
        if not (math.isfinite(found) and found >= 0):
            raise self._damaged(name, "a nonnegative number", found)
        return found

    def values(self, name: str) -> list[Any]:
        found: list[Any] = self._get(name, (list,), "a list")
        return found

    def integers(self, name: str) -> tuple[int, ...]:
        return self.checked_integers(self.values(name), name)

    def checked_integers(self, values: Any, name: str) -> tuple[int, ...]:
        good = isinstance(values, list) and all(
            type(value) is int and 0 <= value < 1 << 63 for value in values
        )
        if not good:
            raise self._damaged(name, "a list of nonnegative integers", values)
        return tuple(values)

    def object(self, name: str) -> _Members:
        return _Members(self._members.get(name), self._file, f"{self._where}{name}.")

    def objects(self, name: str) -> list[_Members]:
        return [
            _Members(each, self._file, f"{self._where}{name}[{i}].")
            for i, each in enumerate(self.values(name))
        ]


def _dispatch(members: _Members, times: tuple[int, ...]) -> Dispatch:
    return Dispatch(
        node=members.text("node"),
        op=members.text("op"),
        kernel=members.text("kernel"),
        variant=members.text("variant"),
        storage=members.text("storage"),
        grid=members.integers("grid"),
        workgroup=members.integers("workgroup"),
        reads=members.integers("reads"),
        writes=members.integers("writes"),
        bytes_read=members.integer("bytes_read"),
        bytes_written=members.integer("bytes_written"),
        operations=members.number("operations"),
        reason=members.text("reason"),
        considered=tuple(
            Trial(each.text("kernel"), each.text("result"), each.text("reason"),
                  each.flag("preferred"))
            for each in members.objects("considered")
        ),
        statistics=members.object("statistics").texts() if "statistics" in members else {},
        times=times,
    )  # fmt: skip


def _tensor(members: _Members) -> TensorRecord:
    return TensorRecord(
        id=members.integer("id"),
        name=members.text("name"),
        dtype=members.text("dtype"),
        shape=members.integers("shape"),
        storage=members.text("storage"),
        bytes=members.integer("bytes"),
        role=members.text("role"),
        alias_of=members.integer("alias_of", -1),
        block=members.integer("block", -1),
        offset=members.integer("offset", 0),
        allocated=members.integer("allocated", 0),
        first=members.integer("first", 0),
        last=members.integer("last", 0),
    )


def _peaks(members: _Members) -> Peaks | None:
    values = [members.number(name) for name in ("read", "write", "multiply_add", "dispatch_ns")]
    return Peaks(*values) if all(values[:3]) else None


def _phase(members: _Members) -> Phase:
    return Phase(members.text("name"), members.integer("start_ns"), members.integer("ns"))


def add_runs(path: Path, new: Mapping[str, Any]) -> None:
    """Writes the profile `new`, with the members of the format, to a file.

    If the file is a profile of the same dispatches on the same device, it keeps its facts and gets
    the new runs. Raises ImportFailure if it is another profile, or cannot be written.
    """
    written = dict(new)
    if path.exists():
        written = _accumulated(path, read_json(path), new)
    with writing(path):
        path.write_text(json.dumps(written) + "\n", encoding="utf-8")


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
