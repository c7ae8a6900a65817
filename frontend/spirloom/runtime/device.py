"""The devices of this machine."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from spirloom.errors import SpirloomError
from spirloom.runtime import abi
from spirloom.runtime.native import native


@dataclass(frozen=True, slots=True)
class Device:
    """What a device reports. Sizes in bytes."""

    name: str
    type: str  # "discrete", "integrated", "cpu", "virtual" or "other"
    api_version: str  # Vulkan's, e.g. "1.3.230"
    driver: str  # its name and version in words, or the version alone
    uuid: str  # "uuid:…", "luid:…", "pci:…": what `device=` takes for equal ones, or ""
    luid: str
    pci: str
    features: tuple[str, ...]  # of those that kernels use, e.g. "storage_buffer_16bit"
    lacks: tuple[str, ...]  # the rest of them
    usable: bool  # False: below Vulkan 1.1, or without a compute queue
    device_memory: int  # the largest device-local heap
    max_storage_buffer_range: int
    max_image_dimension_3d: int
    subgroup_size: int  # invocations


def is_available() -> bool:
    """Whether there is libspirloom, a Vulkan loader and a device to run models on. Never raises."""
    try:
        return bool(native().function("is_available")())
    except SpirloomError:
        return False


def devices() -> list[Device]:
    """The devices, in the order in which `device=INDEX` counts. Unavailable without a loader."""
    library = native()
    listed = library.make("devices_list", "devices_destroy")
    found = []
    for i in range(library.function("devices_count")(listed.value)):
        info = abi.DeviceInfo.new()
        library.call("devices_get", listed.value, i, ctypes.byref(info))
        found.append(device_of(info))
    return found


def device_of(info: Any) -> Device:
    """The device that a filled abi.DeviceInfo describes."""
    names = texts(info.features, info.feature_count)
    return Device(
        **{
            name: getattr(info, name).decode(errors="replace")
            for name in ("name", "type", "api_version", "driver", "uuid", "luid", "pci")
        },
        features=names,
        lacks=tuple(name for name in known_features() if name not in names),
        usable=info.usable,
        device_memory=info.device_memory,
        max_storage_buffer_range=info.max_storage_buffer_range,
        max_image_dimension_3d=info.max_image_dimension_3d,
        subgroup_size=info.subgroup_size,
    )


def known_features() -> tuple[str, ...]:
    """Every feature that kernels may ask a device for."""
    library = native()
    count = library.function("known_feature_count")()
    return tuple(library.text("known_feature", i) for i in range(count))


def texts(pointer: int | None, count: int) -> tuple[str, ...]:
    """`count` strings from an array of pointers to them."""
    if not pointer:
        return ()
    array = (ctypes.c_char_p * count).from_address(pointer)
    return tuple((text or b"").decode(errors="replace") for text in array)
