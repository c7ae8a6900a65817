"""Plans of networks for the described devices, which need no Vulkan."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.described_devices import read_devices
from spirloom.kernel_selection import select

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
    assert len(errors) >= 34
    # Fused layers bind more buffers than the four that Vulkan guarantees.
    few = {name for name, device in described.items() if "max_storage_buffers" not in device}
    assert len(few) <= 3
    assert not {device: error for device, error in errors.items() if error and device not in few}
    for device in few:
        assert "storage buffers, above this device's limit (4)" in errors[device]
