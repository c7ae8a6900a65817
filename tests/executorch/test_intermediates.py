"""Results of the nodes of delegates reach ExecuTorch's debug buffer and Inspector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spirloom.executorch  # noqa: F401
import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime, Verification
from spirloom.executorch import SpirloomPartitioner, model_debug_handles


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(16, 32)
        self.last = torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.last(torch.sin(self.first(x))), -1)


def inspected(partitioner: Any, folder: Path, size: int = 1 << 20) -> tuple[Inspector, Any]:
    """The Inspector of one run, and the values of the module's layers."""
    module, x = Net().eval(), torch.linspace(-2, 2, 32).view(2, 16)
    with model_debug_handles():
        edge = to_edge_transform_and_lower(
            torch.export.export(module, (x,)), partitioner=[partitioner], generate_etrecord=True
        )
    manager = edge.to_executorch()
    record = manager.get_etrecord()
    record.update_representative_inputs([(x,)])
    record.save(folder / "net.etrecord")
    program = Runtime.get().load_program(
        bytes(manager.buffer),
        verification=Verification.Minimal,
        enable_etdump=True,
        debug_buffer_size=size,
    )
    (y,) = program.load_method("forward").execute([x])
    torch.testing.assert_close(y, module(x), rtol=1e-5, atol=1e-5)
    dump, debug = folder / "net.etdp", folder / "debug.bin"
    program.write_etdump_result_to_file(str(dump), str(debug))
    found = Inspector(
        etdump_path=str(dump),
        etrecord=str(folder / "net.etrecord"),
        debug_buffer_path=str(debug) if size else None,
    )
    with torch.no_grad():
        first = module.first(x)
        layers = [first, torch.sin(first), module.last(torch.sin(first)), module(x)]
    return found, layers


@pytest.mark.parametrize("partitioner", [VulkanPartitioner, SpirloomPartitioner])
def test_results_of_nodes(partitioner: Any, tmp_path: Path) -> None:
    found, layers = inspected(partitioner(), tmp_path)
    (block,) = (block for block in found.event_blocks if block.name == "Execute")
    logged = [
        tensor for event in block.events if event.is_delegated_op for tensor in event.debug_data
    ]
    for layer in layers:
        assert any(t.shape == layer.shape and torch.allclose(t, layer, atol=1e-5) for t in logged)
    gaps = found.calculate_numeric_gap("MSE")["gap"]
    assert len(gaps) == 4
    assert all(float(value) < 1e-10 for gap in gaps for value in gap)


def test_no_buffer_logs_no_results(tmp_path: Path) -> None:
    found, _ = inspected(SpirloomPartitioner(), tmp_path, size=0)
    (block,) = (block for block in found.event_blocks if block.name == "Execute")
    rows = [event for event in block.events if event.is_delegated_op]
    assert rows and not any(event.debug_data for event in rows)
