"""Faults of machines and containers that hide Vulkan drivers, with a synthetic root directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from spirloom.driver_faults import Machine, find_faults, library_of, load_error


def machine(
    root: Path, *errors: str, permitted: bool = True, environment: Mapping[str, str] | None = None
) -> Machine:
    """A machine whose dynamic linker reports the error, if any, for every library."""
    error = errors[0] if errors else ""
    return Machine(root, environment or {}, opens=lambda _: error, permits=lambda _: permitted)


def manifest(directory: Path, library: str, name: str = "icd.json") -> str:
    path = directory / name
    path.write_text(json.dumps({"ICD": {"library_path": library}}), encoding="utf-8")
    return str(path)


def touch(root: Path, path: str, text: str = "") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


MISSING = "libGLX_nvidia.so.0: cannot open shared object file: No such file or directory"


def test_a_working_machine(tmp_path: Path) -> None:
    touch(tmp_path, "sys/class/drm/renderD128/device/vendor", "0x1002\n")
    touch(tmp_path, "dev/dri/renderD128")
    assert find_faults([manifest(tmp_path, "libvulkan_radeon.so")], machine(tmp_path)) == []


@pytest.mark.parametrize("name", ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"])
def test_a_variable_that_names_a_missing_manifest(tmp_path: Path, name: str) -> None:
    existing = manifest(tmp_path, "liba.so")
    (fault,) = find_faults(
        [], machine(tmp_path, environment={name: f"{existing}:{tmp_path}/none.json"})
    )
    assert fault == (
        f"{name} names '{tmp_path}/none.json', which does not exist: no driver is loaded from "
        f"there, nor from the default directories. Unset {name}, or set it to an existing manifest."
    )


def test_only_the_variable_that_the_loader_reads(tmp_path: Path) -> None:
    existing = manifest(tmp_path, "liba.so")
    variables = {"VK_DRIVER_FILES": existing, "VK_ICD_FILENAMES": "/none.json"}
    assert find_faults([existing], machine(tmp_path, environment=variables)) == []


def test_a_library_that_is_missing(tmp_path: Path) -> None:
    path = manifest(tmp_path, "/none/libvulkan_lvp.so")
    (fault,) = find_faults([path], Machine(tmp_path, {}))  # with the real dynamic linker
    assert fault.startswith(
        f"The driver manifest '{path}' names /none/libvulkan_lvp.so, which cannot be opened ("
    )
    assert fault.endswith("). Install the driver again.")
    assert "No such file" in fault


def test_drivers_of_other_architectures_are_no_fault(tmp_path: Path) -> None:
    error = "libvulkan_lvp.so: wrong ELF class: ELFCLASS32"
    assert find_faults([manifest(tmp_path, "libvulkan_lvp.so")], machine(tmp_path, error)) == []


def test_a_manifest_without_a_library(tmp_path: Path) -> None:
    touch(tmp_path, "icd.json", "[]")
    (fault,) = find_faults([str(tmp_path / "icd.json")], machine(tmp_path))
    assert f"'{tmp_path}/icd.json' names no library (ICD.library_path)." in fault


def test_libraries_relative_to_the_manifest(tmp_path: Path) -> None:
    assert library_of(manifest(tmp_path, "./lib.so")) == str(tmp_path / "lib.so")
    assert library_of(manifest(tmp_path, "lib.so")) == "lib.so"


@pytest.mark.parametrize(
    ("capabilities", "shown"),
    [
        ("compute,utility", "NVIDIA_DRIVER_CAPABILITIES is 'compute,utility', without 'graphics'."),
        (None, "NVIDIA_DRIVER_CAPABILITIES is unset, i.e. 'compute,utility', without 'graphics'."),
    ],
)
def test_nvidia_without_graphics(tmp_path: Path, capabilities: str | None, shown: str) -> None:
    """The library, or the manifest and the library, are missing in the container."""
    touch(tmp_path, ".dockerenv")
    touch(tmp_path, "dev/nvidiactl")
    variables = {"NVIDIA_DRIVER_CAPABILITIES": capabilities} if capabilities else {}
    remedy = f"{shown} Start the container with `-e NVIDIA_DRIVER_CAPABILITIES=all`."
    found = machine(tmp_path, MISSING, environment=variables)
    path = manifest(tmp_path, "libGLX_nvidia.so.0")
    assert find_faults([path], found) == [
        f"The driver manifest '{path}' names libGLX_nvidia.so.0, which cannot be opened "
        f"({MISSING}). {remedy}"
    ]
    other = machine(tmp_path, environment=variables)
    assert find_faults([manifest(tmp_path, "libvulkan_lvp.so", "lvp.json")], other) == [
        f"/dev/nvidiactl exists, but no manifest of NVIDIA's Vulkan driver does. {remedy}"
    ]


@pytest.mark.parametrize("capabilities", ["all", "compute,graphics", "display"])
def test_nvidia_with_graphics(tmp_path: Path, capabilities: str) -> None:
    touch(tmp_path, ".dockerenv")
    touch(tmp_path, "dev/nvidia0")
    (fault,) = find_faults(
        [], machine(tmp_path, environment={"NVIDIA_DRIVER_CAPABILITIES": capabilities})
    )
    assert f"is '{capabilities}', which includes Vulkan: check that the host has" in fault


def test_nvidia_outside_of_containers(tmp_path: Path) -> None:
    touch(tmp_path, "dev/nvidia0")
    (fault,) = find_faults([], machine(tmp_path))
    assert fault.endswith("(Debian: apt-get install nvidia-vulkan-icd).")


@pytest.mark.parametrize(
    ("container", "remedy"),
    [
        ("podman", "Start the container with `--device /dev/dri`."),
        ("", "Check that its kernel driver is loaded and that udev runs."),
    ],
)
def test_a_gpu_without_device_file(tmp_path: Path, container: str, remedy: str) -> None:
    touch(tmp_path, "sys/class/drm/renderD129/device/vendor", "0x8086\n")
    (fault,) = find_faults([], machine(tmp_path, environment={"container": container}))
    assert fault == (
        f"The machine has a GPU (renderD129), but /dev/dri/renderD129 does not exist. {remedy}"
    )


def test_nvidias_vulkan_needs_no_render_node(tmp_path: Path) -> None:
    touch(tmp_path, "sys/class/drm/renderD128/device/vendor", "0x10de\n")
    assert find_faults([], machine(tmp_path)) == []


@pytest.mark.parametrize("container", ["", "oci"])
def test_a_device_file_without_permission(tmp_path: Path, container: str) -> None:
    touch(tmp_path, "sys/class/drm/renderD128/device/vendor", "0x1002\n")
    touch(tmp_path, "dev/dri/renderD128")
    group = (tmp_path / "dev/dri/renderD128").stat().st_gid
    (fault,) = find_faults(
        [], machine(tmp_path, permitted=False, environment={"container": container})
    )
    remedy = (
        f"Start the container with `--group-add {group}`."
        if container
        else "Add the user to its group (usermod -aG render USER) and log in again."
    )
    assert fault == (
        "/dev/dri/renderD128 exists, but this user may not read and write it; its group is "
        f"{group}. {remedy}"
    )


def test_what_the_dynamic_linker_says() -> None:
    assert load_error("libc.so.6") == ""
    assert "cannot open shared object file" in load_error("libnone_of_this_name.so")
