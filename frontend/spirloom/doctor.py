"""The environment that runs models: versions, loader, drivers, devices, caches, operators."""

from __future__ import annotations

import ctypes
import ctypes.util
import dataclasses
import importlib.metadata
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spec_model.cache_directory import cache_directory
from spec_model.driver_quirks import DRIVER_QUIRKS
from spirloom import __version__
from spirloom.driver_faults import find_faults
from spirloom.errors import SpirloomError

if TYPE_CHECKING:
    from spirloom.runtime.device import Device

MODULES = ("numpy", "onnx", "flatbuffers", "torch", "jinja2", "pyyaml", "pandas")
# The variables whose values the report contains. Of others with these prefixes it contains only the
# names: their values may be secrets.
VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "LIBGL_ALWAYS_SOFTWARE", "MESA_LOADER_DRIVER_OVERRIDE",
    "MESA_VK_DEVICE_SELECT", "SPIRLOOM_DEVICE", "SPIRLOOM_LIBRARY", "SPIRLOOM_SHADERS",
    "VK_ADD_DRIVER_FILES", "VK_ADD_LAYER_PATH", "VK_DRIVER_FILES", "VK_ICD_FILENAMES",
    "VK_INSTANCE_LAYERS", "VK_LAYER_PATH", "VK_LOADER_DEBUG", "VK_LOADER_DRIVERS_DISABLE",
    "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_LAYERS_DISABLE", "VK_LOADER_LAYERS_ENABLE",
    "XDG_CACHE_HOME",
)  # fmt: skip
PREFIXES = ("SPIRLOOM_", "VK_", "MESA_", "LIBGL_", "CUDA_VISIBLE")
NOT_SHOWN = "(set; the value is not shown)"
Report = dict[str, Any]


def examine() -> Report:
    """Collects the report. `problems` lists what prevents models from running, `warnings` what
    hides a GPU while another device, such as the CPU, runs them.
    """
    report: Report = {
        "spirloom": {"version": __version__, "package": str(Path(__file__).parent)},
        "python": {"version": platform.python_version(), "modules": _modules()},
        "system": {"platform": platform.platform(), "libc": " ".join(platform.libc_ver())},
        "environment": _environment(),
        "vulkan": {"loader": _loader(), "drivers": _manifests("icd.d"), "layers": _layers()},
        "library": {},
        "devices": [],
        "operators": 0,
        "cache": _cache(),
        "problems": [],
        "warnings": [],
    }
    for step in (_find_library, _find_devices, _find_operators):
        try:
            step(report)
        except SpirloomError as error:
            if str(error) not in report["problems"]:
                report["problems"].append(str(error))
    windows = os.name == "nt"
    if not windows:
        usable = any(device["usable"] for device in report["devices"])
        report["warnings" if usable else "problems"] += find_faults(report["vulkan"]["drivers"])
    if not report["vulkan"]["loader"]:
        remedy = "install the GPU driver" if windows else "apt-get install libvulkan1"
        report["problems"].append(f"No Vulkan loader was found: {remedy}")
    elif not report["vulkan"]["drivers"] and not report["devices"]:
        other = (
            ""
            if windows
            else " or mesa-vulkan-drivers (apt-get); for a container in its image: the driver of "
            "the host is not visible there"
        )
        report["problems"].append(f"No Vulkan driver was found: install the GPU driver{other}")
    return report


def _environment() -> dict[str, str]:
    return {
        name: value if name in VARIABLES else NOT_SHOWN
        for name, value in sorted(os.environ.items())
        if name in VARIABLES or name.startswith(PREFIXES)
    }


def _modules() -> dict[str, str | None]:
    """The versions of installed modules. None for those that are not installed."""
    found: dict[str, str | None] = {}
    for name in MODULES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def _loader() -> Report | None:
    """The name and version of the Vulkan loader. None without one."""
    default = "vulkan-1.dll" if os.name == "nt" else "libvulkan.so.1"
    name = ctypes.util.find_library("vulkan") or default
    try:
        loader = ctypes.CDLL(name)
        version = ctypes.c_uint32()
        loader.vkEnumerateInstanceVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    packed = version.value
    return {"name": name, "version": f"{packed >> 22 & 127}.{packed >> 12 & 1023}.{packed & 4095}"}


def _manifests(kind: str) -> list[str]:
    """The manifests of drivers or layers in the directories that the loader searches. On Windows,
    where the registry names them, only those of environment variables.
    """
    if kind == "icd.d":
        for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
            if variable in os.environ:
                return [f for f in os.environ[variable].split(os.pathsep) if Path(f).exists()]
    if os.name == "nt":
        return []
    home = Path.home()
    data = os.environ.get("XDG_DATA_DIRS", "/usr/local/share:/usr/share").split(":")
    directories = [home / ".config", home / ".local/share", *map(Path, ("/etc/xdg", "/etc", *data))]
    found = (
        path for directory in directories for path in (directory / "vulkan" / kind).glob("*.json")
    )
    return [str(path) for path in sorted(set(found))]


def _layers() -> list[str]:
    return _manifests("explicit_layer.d") + _manifests("implicit_layer.d")


def _cache() -> Report:
    """The directory of compiled pipelines and tuning results, and its size."""
    directory = cache_directory()
    files = [path for path in directory.glob("*") if path.is_file()]
    sizes = sum(path.stat().st_size for path in files)
    return {"directory": str(directory), "files": len(files), "bytes": sizes}


def _find_library(report: Report) -> None:
    from spirloom.runtime.native import native

    library = native()
    report["library"] = {
        "path": str(library.files.library),
        "version": library.text("version"),
        "shaders": str(library.files.shaders),
        "shader_bytes": library.files.shaders.stat().st_size
        if library.files.shaders.exists()
        else None,
    }


def _find_devices(report: Report) -> None:
    from spirloom.runtime import devices

    report["devices"] = [
        dataclasses.asdict(device)
        | {"quirks": _quirks(device), "quarantined": _quarantined(device)}
        for device in devices()
    ]
    if not any(device["usable"] for device in report["devices"]):
        report["problems"].append("No device has Vulkan 1.1 and a compute queue.")


def _quirks(device: Device) -> list[Report]:
    """The known bugs and limits of the device's driver."""
    identity = (device.vendor_id, device.driver_id, device.type, device.driver_version_number)
    return [
        {"name": quirk.name, "description": quirk.description, "link": quirk.link}
        for quirk in DRIVER_QUIRKS
        if quirk.applies(*identity)
    ]


def _quarantined(device: Device) -> list[str]:
    """The kernels that failed verification on the device, with their verdicts."""
    from spirloom.verify import verdicts

    found = verdicts.read(verdicts.default_path(device), device.driver)
    return [f"{each.variant} ({each.verdict})" for each in verdicts.bad(found.values())]


def _find_operators(report: Report) -> None:
    from spirloom.runtime import Runtime

    with Runtime(cache_dir="none") as runtime:
        report["chosen_device"] = runtime.device.name
        report["operators"] = len(runtime.operator_names())


def to_text(report: Report) -> str:
    """The report as text, one line per fact."""
    vulkan, library, cache = (report[name] for name in ("vulkan", "library", "cache"))
    loader = vulkan["loader"]
    lines = [
        f"Spirloom    {report['spirloom']['version']} in {report['spirloom']['package']}",
        f"Python      {report['python']['version']}, {_versions(report['python']['modules'])}",
        f"System      {report['system']['platform']}, {report['system']['libc']}",
        f"Loader      {loader['name']}, Vulkan {loader['version']}"
        if loader
        else "Loader      none",
        *_listed("Driver", vulkan["drivers"]),
        *_listed("Layer", vulkan["layers"]),
    ]
    if library:
        lines += [
            f"Library     {library['version']}, {library['path']}",
            f"Shaders     {library['shaders']}, {_count(library['shader_bytes'], 'byte')}",
        ]
    lines += [line for i, device in enumerate(report["devices"]) for line in _device(i, device)]
    if report["operators"]:
        lines.append(f"Operators   {report['operators']}, on {report['chosen_device']}")
    lines.append(
        f"Cache       {cache['directory']}, {_count(cache['files'], 'file')}, "
        f"{_count(cache['bytes'], 'byte')}"
    )
    lines += [f"{name}={value}" for name, value in report["environment"].items()]
    lines += [f"WARNING     {warning}" for warning in report["warnings"]]
    lines += [f"PROBLEM     {problem}" for problem in report["problems"]]
    return "\n".join(lines)


def _count(number: int | None, noun: str) -> str:
    """A number of things, e.g. "1 file"; "no files" without a number."""
    return f"no {noun}s" if number is None else f"{number} {noun}{'' if number == 1 else 's'}"


def _versions(modules: dict[str, str | None]) -> str:
    found = [f"{name} {version}" for name, version in modules.items() if version]
    missing = [name for name, version in modules.items() if not version]
    return ", ".join(found) + (f"; without {', '.join(missing)}" if missing else "")


def _listed(title: str, items: list[str]) -> list[str]:
    return [f"{title:11} {item}" for item in items] or [f"{title:11} none"]


def _selecting(device: Report) -> list[tuple[str, int]]:
    """The properties that select kernels, without those of other lines."""
    elsewhere = ("subgroup_size", "max_loop_iterations")
    return [item for item in device["properties"].items() if item[0] not in elsewhere]


def _device(i: int, device: Report) -> list[str]:
    lacks = ", ".join(device["lacks"]) or "nothing"
    memory = device["device_memory"] >> 20
    limit = device["max_loop_iterations"]
    loops = f", loops to {limit} iterations" if limit else ""
    usable = "" if device["usable"] else "; not usable: Vulkan 1.1 and a compute queue are required"
    return [
        f"Device {i}    {device['name']} ({device['type']}), Vulkan {device['api_version']}, "
        f"{device['driver']}{usable}",
        f"            {memory} MiB, buffers to {device['max_storage_buffer_range'] >> 20} MiB, "
        f"subgroups of {device['subgroup_size']}{loops}; lacks {lacks}",
        f"            {', '.join(f'{name} {value}' for name, value in _selecting(device))}",
        f"            {device['uuid'] or 'no uuid'} {device['pci']}".rstrip(),
        *(
            f"            known: {quirk['description']} ({quirk['link']})"
            for quirk in device["quirks"]
        ),
        *(f"            not selected (spirloom verify): {name}" for name in device["quarantined"]),
    ]
