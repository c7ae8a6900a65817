"""The devices of this machine."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from spirloom.errors import SpirloomError
from spirloom.runtime import abi
from spirloom.runtime.native import native


@dataclass(frozen=True, slots=True, repr=False)
class Device:
    """What a device reports. Sizes in bytes."""

    name: str
    type: str  # "discrete", "integrated", "cpu", "virtual" or "other"
    api_version: str  # Vulkan's, e.g. "1.3.230"
    driver: str  # name and version as text, or only the version
    driver_version_number: int  # in the vendor's encoding
    driver_id: int  # VkDriverId; 0: not reported
    vendor_id: int  # PCI id
    uuid: str  # "uuid:…", "luid:…", "pci:…": unique selectors for `device=`, or ""
    luid: str
    pci: str
    features: tuple[str, ...]  # supported features that kernels use: "storage_buffer_16bit"
    lacks: tuple[str, ...]  # features that kernels use and the device does not support
    usable: bool  # False: below Vulkan 1.1, or without a compute queue
    device_memory: int  # the largest device-local heap
    max_storage_buffer_range: int
    max_image_dimension_3d: int
    subgroup_size: int  # invocations
    # Loop iterations of an invocation after which the driver ends its loops; 0: no limit
    max_loop_iterations: int
    properties: dict[str, int]  # those that select kernels: "cores"; bools are 0 or 1

    def __repr__(self) -> str:
        return f"<spirloom.Device {self.name!r}, {self.type}, Vulkan {self.api_version}>"


def is_available() -> bool:
    """Whether libspirloom, a Vulkan loader and a usable device are present. Never raises."""
    try:
        return bool(native().function("is_available")())
    except SpirloomError:
        return False


def devices() -> list[Device]:
    """The devices, in the order of `device=INDEX`. Raises Unavailable without a Vulkan loader."""
    library = native()
    listed = library.make("devices_list", "devices_destroy")
    found = []
    for i in range(library.function("devices_count")(listed.value)):
        info = abi.DeviceInfo.new()
        library.call("devices_get", listed.value, i, ctypes.byref(info))
        found.append(device_of(info))
    return found


def device_of(info: Any) -> Device:
    """Converts an abi.DeviceInfo."""
    names = texts(info.features, info.feature_count)
    return Device(
        **{
            name: getattr(info, name).decode(errors="replace")
            for name in ("name", "type", "api_version", "driver", "uuid", "luid", "pci")
        },
        features=names,
        lacks=tuple(name for name in known_features() if name not in names),
        driver_version_number=info.driver_version_number,
        driver_id=info.driver_id,
        vendor_id=info.vendor_id,
        usable=info.usable,
        device_memory=info.device_memory,
        max_storage_buffer_range=info.max_storage_buffer_range,
        max_image_dimension_3d=info.max_image_dimension_3d,
        subgroup_size=info.subgroup_size,
        max_loop_iterations=info.max_loop_iterations,
        properties=_properties(info.properties, info.property_count),
    )


def _properties(pointer: int | None, count: int) -> dict[str, int]:
    if not pointer:
        return {}
    array = (abi.DeviceProperty * count).from_address(pointer)
    return {each.name.decode(errors="replace"): each.value for each in array}


def known_features() -> tuple[str, ...]:
    """All device features that a kernel may require."""
    library = native()
    count = library.function("known_feature_count")()
    return tuple(library.text("known_feature", i) for i in range(count))


def texts(pointer: int | None, count: int) -> tuple[str, ...]:
    """Reads `count` strings from an array of char pointers."""
    if not pointer:
        return ()
    array = (ctypes.c_char_p * count).from_address(pointer)
    return tuple((text or b"").decode(errors="replace") for text in array)
