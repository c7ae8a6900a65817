"""Whole networks on Vulkan against PyTorch on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.network.driver import TOLERANCE, Tools, import_network, run_network
from tests.network.networks import Exported, export_network

NETWORKS = ("mobilenet_v2", "resnet18", "squeezenet1_1")


@pytest.fixture(scope="module", params=NETWORKS)
def exported(request: pytest.FixtureRequest, network_cache: Path) -> Exported:
    return export_network(request.param, network_cache)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("batch", [1, 3])
def test_agrees_with_pytorch(
    tools: Tools, exported: Exported, batch: int, dtype: str, tmp_path: Path
) -> None:
    model = import_network(tools, exported.onnx, batch, dtype, tmp_path)
    errors = {
        storage: run_network(tools, model, exported, batch, storage, tmp_path).error
        for storage in ("buffer", "texture3d")
    }
    print(" ".join(f"{storage} {error:.1e}" for storage, error in errors.items()))
    assert max(errors.values()) < TOLERANCE[dtype], errors
