"""Whole networks on Vulkan against PyTorch on the CPU."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.network.driver import TOLERANCE, Tools, import_network, run_network
from tests.network.export import TRANSFORMER, export_network
from tests.sample import varied

BOTH = ("buffer", "texture3d")
ALL = (*BOTH, "texture2d")

# (network, batch, dtype, storages). A commit tests one of the storages. Large networks, which take
# seconds per run on a CPU device, run in fewer combinations.
SMALL = ("mobilenet_v2", "resnet18", "squeezenet1_1", TRANSFORMER)
RUNS = [
    *((name, batch, dtype, ALL) for name, batch, dtype in product(SMALL, (1, 3), ("f32", "f16"))),
    ("mobilenet_v3_small", 1, "f32", BOTH),
    ("mobilenet_v3_small", 3, "f16", BOTH),
    ("efficientnet_b0", 1, "f32", BOTH),
    ("efficientnet_b0", 1, "f16", ("buffer",)),
    ("densenet121", 1, "f32", ("buffer",)),
    ("densenet121", 1, "f16", ("texture3d",)),
    ("resnet50", 1, "f32", ("buffer",)),
    ("resnet50", 1, "f16", ("texture3d",)),
]


@pytest.mark.parametrize(("name", "batch", "dtype", "storages"), RUNS)
def test_agrees_with_pytorch(
    tools: Tools,
    network_cache: Path,
    tmp_path: Path,
    name: str,
    batch: int,
    dtype: str,
    storages: tuple[str, ...],
) -> None:
    exported = export_network(name, network_cache)
    model = import_network(tools, exported.onnx, batch, dtype, tmp_path)
    errors = {
        storage: run_network(tools, model, exported, batch, storage, tmp_path).error
        for storage in varied(storages, len(storages))
    }
    print(" ".join(f"{storage} {error:.1e}" for storage, error in errors.items()))
    assert max(errors.values()) < TOLERANCE[dtype], errors


@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v3_small", TRANSFORMER])
def test_any_batch_agrees_with_pytorch(
    tools: Tools, network_cache: Path, tmp_path: Path, name: str
) -> None:
    """One graph file for all of them."""
    exported = export_network(name, network_cache)
    model = import_network(tools, exported.onnx, "1..3", "f32", tmp_path)
    for storage, batch in varied(tuple(product(BOTH, (1, 2, 3))), 3):
        error = run_network(tools, model, exported, batch, storage, tmp_path).error
        assert error < TOLERANCE["f32"], (storage, batch)
