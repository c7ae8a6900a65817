"""docs/reference/described-devices.md: the described devices, the networks that load on them, the
kernels of central operators and the missing features.

python3 -m benchmarks.device_table      # writes the page; exports networks, which requires PyTorch
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spirloom import graph_file
from spirloom.casegen.call_graph import call_graph
from spirloom.casegen.explain import builtin_operators
from spirloom.cli import main as spirloom
from spirloom.described_devices import DEVICES, read_devices
from spirloom.kernel_selection import Selection, select

from benchmarks.calls import ROOT
from benchmarks.selection import Call, read_calls
from benchmarks.tables import table
from spec_model.vocabulary import Capability
from tests.network.export import TRANSFORMER, export_network

CALLS = Path(__file__).with_name("device_table.yaml")
PAGE = ROOT / "docs" / "reference" / "described-devices.md"
NETWORKS = ("mobilenet_v2", TRANSFORMER)
DTYPES = ("f32", "f16")
_GUARANTEED_BUFFERS = 4
_MOST_BUFFERS = 10  # that a kernel of a fused layer binds
# A column has the bytes of shared memory.
_SHARED_MEMORY = {Capability.SHARED_MEMORY_32K, Capability.SHARED_MEMORY_48K}
_SUBGROUPS = [each for each in Capability if each.startswith("subgroup_")]
_HEAD = """\
# Described devices

`frontend/spirloom/devices.yaml` describes {count} devices by their limits, features and properties.
The runtime's own planning (`spirloom-ops --select`) determines, without the device, the networks
that load on each of them, the kernels and the missing features. `python3 -m
benchmarks.device_table` writes this page.

- [Devices](../devices.md) has the devices on which tests ran, and the runtime's fallbacks for
  missing features.
- [The kernels of more calls](../../generated/kernel_selection.md), by call.
- `spirloom op explain OP --device NAME` prints the reasons of a selection
  ([tune](../how-to/tune.md)). It accepts a YAML file that describes another device.
"""
_MISSING = """\
## Networks and missing features

The columns {networks} have the dtypes in which the network loads, in `buffer` storage. A dash: it
does not load, because its attention binds more storage buffers than the device allows.

Tensors of 8-bit and 16-bit types work without `storage_buffer_8bit` and `storage_buffer_16bit`, by
[rewritten kernels](../explanation/architecture.md#devices-without-8-bit-or-16-bit-storage).
"""
_KERNELS = """\
## Kernels of central operators

The kernel that computes the call; kernels that pack weights when the model is loaded are left out.
A dash: no kernel runs on the device.
"""
_SOURCES = """\
## Sources

The values are from public reports of the devices' drivers, and from the sources of drivers. Values
without a report are marked as assumed.
"""


def comments(text: str) -> dict[str, str]:
    """The comment above each device of devices.yaml, on one line."""
    found: dict[str, str] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            lines.append(line.removeprefix("#").strip())
        elif key := re.match(r"([\w-]+):$", line):
            found[key[1]] = " ".join(lines)
            lines = []
        elif not line:
            lines = []
    return found


def missing(device: Mapping[str, Any]) -> list[str]:
    """Capabilities that kernels use and the device lacks; few storage buffers."""
    lacks = [c for c in Capability if c not in {*device["capabilities"], *_SHARED_MEMORY}]
    operations = [each for each in _SUBGROUPS if each in lacks]
    found = [f"`{each}`" for each in lacks if each not in operations]
    if len(operations) == len(_SUBGROUPS) - 1:  # every device has the basic ones
        found.append("subgroup operations")
    else:
        found += [f"`{each}`" for each in operations]
    buffers = device.get("max_storage_buffers", _GUARANTEED_BUFFERS)
    return found + ([f"storage buffers ({buffers})"] if buffers < _MOST_BUFFERS else [])


def _network(name: str, dtype: str, cache: Path, folder: Path) -> bytes:
    """The graph file of a network at batch size 1."""
    out = folder / "network.slg"
    command = ["import", str(export_network(name, cache).onnx), "-o", str(out), "--dim", "batch=1"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = spirloom([*command, *(["--fp16"] if dtype == "f16" else [])])
    assert status == 0, f"The import of {name} fails."
    return out.read_bytes()


def _limits(device: Mapping[str, Any]) -> list[str]:
    """Vulkan version, subgroup sizes, invocations of a workgroup, KiB of shared memory."""
    properties = device.get("properties", {})
    size = properties.get("subgroup_size", 1)
    low, high = (properties.get(f"{end}_subgroup_size", size) for end in ("min", "max"))
    return [
        f"1.{device['vulkan_minor']}",
        "" if size == 1 else f"{low}" if low == high else f"{low}–{high}",
        f"{properties.get('max_workgroup', 128)}",
        f"{properties.get('shared_memory', 16384) // 1024}",
    ]


def _loads(plans: Sequence[Selection]) -> str:
    """The dtypes that load."""
    loads = [dtype for dtype, plan in zip(DTYPES, plans, strict=True) if not plan.error]
    return ", ".join(loads) or "–"


def _kernel(call: Call, selected: Selection) -> str:
    own = [each.kernel for each in selected.dispatches if each.op == call.run.op.name]
    return f"`{own[0]}`" if own and not selected.error else "–"


def page(cache: Path) -> str:
    """The text of the page. `cache` holds exported networks."""
    devices = read_devices()
    texts = comments(DEVICES.read_text(encoding="utf-8"))
    calls = list(read_calls(builtin_operators(), CALLS))
    with tempfile.TemporaryDirectory(prefix="spirloom-devices-") as scratch:
        networks = [
            _network(name, dtype, cache, Path(scratch)) for name in NETWORKS for dtype in DTYPES
        ]
    graphs = [*networks, *(graph_file.to_bytes(call_graph(call.run)) for call in calls)]
    facts: list[list[str]] = []
    kernels: list[list[str]] = []
    for name, each in select(graphs, devices).items():
        plans, own = each.graphs[: len(networks)], each.graphs[len(networks) :]
        loads = [_loads(plans[i : i + len(DTYPES)]) for i in range(0, len(plans), len(DTYPES))]
        lacks = ", ".join(missing(devices[name])) or "nothing"
        facts.append([f"`{name}`", *_limits(devices[name]), *loads, lacks])
        kernels.append([f"`{name}`", *map(_kernel, calls, own)])
    titles = ("device", "Vulkan", "subgroups", "workgroup", "shared KiB", *NETWORKS, "missing")
    parts = [
        _HEAD.format(count=len(devices)),
        _MISSING.format(networks=" and ".join(f"`{name}`" for name in NETWORKS)),
        table(titles, facts),
        _KERNELS,
        table(("device", *(call.group for call in calls)), kernels),
        _SOURCES,
        table(("device", "description"), ((f"`{name}`", texts[name]) for name in devices)),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=ROOT / "build/release/networks")
    PAGE.write_text(page(parser.parse_args().cache), encoding="utf-8")
