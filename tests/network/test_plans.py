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
    devices = select([model.read_bytes()], read_devices())
    errors = {device: plan.graphs[0].error for device, plan in devices.items()}
    assert len(errors) >= 34
    assert not {device: error for device, error in errors.items() if error}
