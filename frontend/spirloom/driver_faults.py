"""Faults of a machine or container that hide Vulkan drivers or GPUs: manifests that name missing
files or libraries, NVIDIA's driver without its part for graphics, device files that are absent or
forbidden.

Each fault is a message with its remedy. Linux only: on Windows the registry names the drivers.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

VARIABLES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")  # the loader reads the first that is set
NVIDIA_VENDOR = "0x10de"

# Capabilities of NVIDIA's container toolkit that include the Vulkan driver.
CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"
WITH_VULKAN = {"graphics", "display", "all"}
DEFAULT_CAPABILITIES = "compute,utility"
_RUN_WITH_VULKAN = f"Start the container with `-e {CAPABILITIES}=all`."


@dataclass(frozen=True, slots=True)
class Machine:
    """What is examined. Tests replace the parts."""

    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    opens: Callable[[str], str] = field(default_factory=lambda: load_error)
    permits: Callable[[Path], bool] = field(default_factory=lambda: _permits)

    def exists(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()

    def in_container(self) -> bool:
        """Docker, Podman and systemd-nspawn leave these traces."""
        traces = map(self.exists, ("/.dockerenv", "/run/.containerenv"))
        return any(traces) or bool(self.environment.get("container"))


def load_error(library: str) -> str:
    """The reason why the dynamic linker cannot open a library; "" if it can."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        return str(error)
    return ""


def _permits(path: Path) -> bool:
    return os.access(path, os.R_OK | os.W_OK)


def find_faults(manifests: Sequence[str], machine: Machine | None = None) -> list[str]:
    """The faults of a machine on which the Vulkan loader finds these driver manifests."""
    machine = machine or Machine()
    return [
        *_variables(machine),
        *(fault for manifest in manifests for fault in _library(manifest, machine)),
        *_nvidia(manifests, machine),
        *_device_files(machine),
    ]


def _variables(machine: Machine) -> Iterator[str]:
    """Manifests that do not exist, of the variable that the loader reads."""
    name = next((name for name in VARIABLES if name in machine.environment), None)
    if name is None:
        return
    for path in machine.environment[name].split(os.pathsep):
        if not Path(path).exists():
            yield (
                f"{name} names '{path}', which does not exist: no driver is loaded from there, "
                f"nor from the default directories. Unset {name}, or set it to an existing "
                "manifest."
            )


def library_of(manifest: str) -> str:
    """The library that a driver manifest names, as the dynamic linker opens it; "" without one."""
    try:
        library = json.loads(Path(manifest).read_text(encoding="utf-8"))["ICD"]["library_path"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if "/" in library:  # relative to the manifest
        library = str(Path(manifest).parent / library)
    return str(library)


def _library(manifest: str, machine: Machine) -> Iterator[str]:
    """A manifest whose library cannot be opened. The loader skips those of other architectures."""
    library = library_of(manifest)
    if not library:
        yield (
            f"The driver manifest '{manifest}' names no library (ICD.library_path). Install the "
            "driver again."
        )
        return
    error = machine.opens(library)
    if not error or "ELF class" in error:
        return
    if "nvidia" in library.lower():
        yield (
            f"The driver manifest '{manifest}' names {library}, which cannot be opened ({error}). "
            + _nvidia_remedy(machine)
        )
    else:
        yield (
            f"The driver manifest '{manifest}' names {library}, which cannot be opened ({error}). "
            "Install the driver again."
        )


def _nvidia_remedy(machine: Machine) -> str:
    capabilities = machine.environment.get(CAPABILITIES)
    if not (machine.in_container() or capabilities):
        return (
            "Install the driver's libraries for Vulkan (Debian: apt-get install nvidia-vulkan-icd)."
        )
    shown = capabilities or f"unset, i.e. '{DEFAULT_CAPABILITIES}'"
    if WITH_VULKAN & set(re.split(r"[,\s]+", capabilities or DEFAULT_CAPABILITIES)):
        return (
            f"{CAPABILITIES} is '{shown}', which includes Vulkan: check that the host has the "
            "driver's libraries for Vulkan, and that the container was started with `--gpus all`."
        )
    quoted = shown if capabilities is None else f"'{shown}'"
    return f"{CAPABILITIES} is {quoted}, without 'graphics'. {_RUN_WITH_VULKAN}"


def _nvidia(manifests: Sequence[str], machine: Machine) -> Iterator[str]:
    """A GPU of NVIDIA without its Vulkan driver."""
    device = next(filter(machine.exists, ("/dev/nvidiactl", "/dev/nvidia0")), None)
    if device and not any("nvidia" in library_of(manifest).lower() for manifest in manifests):
        yield (
            f"{device} exists, but no manifest of NVIDIA's Vulkan driver does. "
            + _nvidia_remedy(machine)
        )


def _device_files(machine: Machine) -> Iterator[str]:
    """GPUs of AMD, Intel and others, whose device files are absent or forbidden."""
    for node in sorted((machine.root / "sys/class/drm").glob("renderD*")):
        vendor = node / "device/vendor"
        if vendor.exists() and vendor.read_text(encoding="utf-8").strip() == NVIDIA_VENDOR:
            continue  # its Vulkan driver uses /dev/nvidia*
        path = machine.root / "dev/dri" / node.name
        if not path.exists():
            yield (
                f"The machine has a GPU ({node.name}), but /dev/dri/{node.name} does not exist. "
                + ("Start the container with `--device /dev/dri`." if machine.in_container()
                   else "Check that its kernel driver is loaded and that udev runs.")
            )  # fmt: skip
        elif not machine.permits(path):
            group = path.stat().st_gid
            yield (
                f"/dev/dri/{node.name} exists, but this user may not read and write it; its group "
                f"is {group}. "
                + (f"Start the container with `--group-add {group}`." if machine.in_container()
                   else "Add the user to its group (usermod -aG render USER) and log in again.")
            )  # fmt: skip
