"""The kernels that devices select for graphs, by the runtime's own selection (spirloom-ops)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.programs import command as program_command


@dataclass(frozen=True, slots=True)
class Trial:
    """A kernel that was considered for a call.

    `result` is "taken", "possible", or the first obstacle: "storage", "when", "library", "device"
    or "loops". `preferred`: the kernel is possible, and the device prefers it to later ones.
    """

    kernel: str
    result: str
    reason: str
    preferred: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """The kernel of a call in a storage; "" if none computes it there."""

    node: str
    op: str
    storage: str
    kernel: str
    considered: tuple[Trial, ...]  # in order, up to the taken one; empty unless requested


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A dispatch, with the requirements of its variant."""

    node: str
    op: str
    kernel: str
    variant: str
    needs: tuple[str, ...]  # capabilities
    vulkan_minor: int
    workgroup: tuple[int, int, int]
    groups: tuple[int, int, int]
    push_bytes: int
    storage_buffers: int
    subgroup_size: int  # required; 0: the device's default


@dataclass(frozen=True, slots=True)
class Selection:
    """The kernels of a graph on a device. `error`: why the device cannot compute the graph."""

    choices: tuple[Choice, ...]
    dispatches: tuple[Dispatch, ...]
    error: str


@dataclass(frozen=True, slots=True)
class DeviceSelections:
    """A device's properties, with bools as 0 or 1, and its selection for each graph."""

    properties: dict[str, int]
    graphs: list[Selection]


def select(
    graphs: Sequence[bytes],
    devices: Mapping[str, Mapping[str, Any]] | None = None,
    device: str = "",
    explain: bool = False,
) -> dict[str, DeviceSelections]:
    """The selection for each graph file, by device: the described `devices`, or a device of this
    machine."""
    with tempfile.TemporaryDirectory(prefix="spirloom-") as scratch:
        files = []
        for i, graph in enumerate(graphs):
            files.append(Path(scratch) / f"{i}.slg")
            files[-1].write_bytes(graph)
        words = ["--select", *map(str, files)]
        if devices is not None:
            described = Path(scratch) / "devices.json"
            described.write_text(
                json.dumps([{"name": name, **each} for name, each in devices.items()]),
                encoding="utf-8",
            )
            words += ["--devices", str(described)]
        elif device:
            words += ["--device", device]
        if explain:
            words.append("--explain")
        command = program_command("spirloom-ops", words)
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise ImportFailure(done.stderr.strip().removeprefix("spirloom-ops: error: "))
    return {
        each["device"]: DeviceSelections(
            each["properties"], [_selection(graph) for graph in each["graphs"]]
        )
        for each in json.loads(done.stdout)
    }


def _selection(graph: dict[str, Any]) -> Selection:
    return Selection(
        tuple(_choice(call) for call in graph["calls"]),
        tuple(_dispatch(each) for each in graph.get("dispatches", [])),
        graph.get("error", ""),
    )


def _choice(call: dict[str, Any]) -> Choice:
    considered = tuple(Trial(**trial) for trial in call.pop("considered", []))
    return Choice(**call, considered=considered)


def _dispatch(members: dict[str, Any]) -> Dispatch:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in members.items()
    }
    return Dispatch(**values)
