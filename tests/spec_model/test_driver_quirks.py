"""The table of known driver bugs and limits: described devices, and its documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from spec_model.driver_quirks import DRIVER_QUIRKS

ROOT = Path(__file__).resolve().parents[2]

# vendor, VkDriverId, type, driver version → names of the rows
DEVICES: dict[str, tuple[tuple[int, int, str, int], list[str]]] = {
    "llvmpipe": ((0x10005, 13, "cpu", 1), ["llvmpipe_loop_limit", "cpu_loads_by_lane"]),
    "SwiftShader": (
        (0x1AE0, 10, "cpu", 0x1400000),
        [
            "cpu_loads_by_lane",
            "swiftshader_exp_nan",
            "swiftshader_pack_half",
            "swiftshader_cache_grows",
        ],
    ),
    "NVIDIA": (
        (0x10DE, 4, "discrete", 0x9127C100),
        ["nvidia_dispatch_base", "nvidia_quad_matrices"],
    ),
    "ANV": ((0x8086, 6, "integrated", 1), ["intel_registers"]),
    "Mali": ((0x13B5, 9, "integrated", 1), ["mali_registers"]),
    "RADV": ((0x1002, 3, "discrete", 0x5C03006), []),
    "Adreno": ((0x5143, 8, "integrated", 0x80201000), []),
}


@pytest.mark.parametrize("name", DEVICES)
def test_rows_of_described_devices(name: str) -> None:
    identity, expected = DEVICES[name]
    assert [quirk.name for quirk in DRIVER_QUIRKS if quirk.applies(*identity)] == expected


def test_described_devices_have_the_registers_of_the_rows() -> None:
    rows = {quirk.name: quirk.value for quirk in DRIVER_QUIRKS if quirk.field == "registers"}
    text = (ROOT / "frontend/spirloom/devices.yaml").read_text(encoding="utf-8")
    devices = yaml.safe_load(text).items()
    found = {name: device.get("properties", {}).get("registers") for name, device in devices}
    for row, value in rows.items():
        vendor = row.partition("_")[0]
        given = [count for name, count in found.items() if name.startswith(f"{vendor}-")]
        assert given and set(given) == {value}
    assert {*found.values()} == {None, *rows.values()}


def test_every_row_has_a_device_and_is_documented() -> None:
    covered = {name for _, names in DEVICES.values() for name in names}
    assert {quirk.name for quirk in DRIVER_QUIRKS} == covered
    page = (ROOT / "docs/devices.md").read_text(encoding="utf-8")
    for quirk in DRIVER_QUIRKS:
        assert f"| `{quirk.name}` |" in page
        assert quirk.first <= quirk.last
        assert quirk.link.startswith("https://")
