"""Plans of networks for the described devices, which need no Vulkan."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.described_devices import DEVICES, read_devices
from spirloom.kernel_selection import select

from benchmarks import device_table
from tests.network.driver import Tools, import_network
from tests.network.export import TRANSFORMER, export_network


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("name", ["mobilenet_v2", TRANSFORMER])
def test_every_described_device_computes_the_network(
    tools: Tools, network_cache: Path, tmp_path: Path, name: str, dtype: str
) -> None:
    exported = export_network(name, network_cache)
    model = import_network(tools, exported.onnx, 1, dtype, tmp_path)
    described = read_devices()
    devices = select([model.read_bytes()], described)
    errors = {device: plan.graphs[0].error for device, plan in devices.items()}
    assert len(errors) >= 41
    # Attention binds more buffers than the four that Vulkan guarantees.
    few = {name for name, device in described.items() if "max_storage_buffers" not in device}
    assert len(few) <= 3
    lacking = few if name == TRANSFORMER else set()
    assert not {d: error for d, error in errors.items() if error and d not in lacking}
    for device in lacking:
        assert "storage buffers, above this device's limit (4)" in errors[device]


def test_the_page_of_described_devices_is_current(network_cache: Path) -> None:
    """python3 -m benchmarks.device_table rewrites it."""
    assert device_table.PAGE.read_text(encoding="utf-8") == device_table.page(network_cache)


def test_a_device_without_features() -> None:
    missing = device_table.missing({"capabilities": ["subgroup_basic", "shader_float16"]})
    assert "subgroup operations" in missing and "storage buffers (4)" in missing
    assert "`shader_float16`" not in missing and "`cooperative_matrix`" in missing
    some = {"capabilities": ["subgroup_basic", "subgroup_vote"], "max_storage_buffers": 16}
    assert "`subgroup_shuffle`" in device_table.missing(some)


def test_every_described_device_has_a_comment_with_its_source() -> None:
    found = device_table.comments("# A phone.\n# Source: x.\n\n# B.\n# C.\nb:\n  d: 1\nc:\n")
    assert found == {"b": "B. C.", "c": ""}
    texts = device_table.comments(DEVICES.read_text(encoding="utf-8"))
    sourced = ("Source: ", "As the ", "No public report was found.")
    assert [name for name in read_devices() if not any(s in texts[name] for s in sourced)] == []
