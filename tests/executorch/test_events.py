"""ExecuTorch's event tracer gets a row for each dispatch, under the id of the call it computes."""

from __future__ import annotations

from pathlib import Path

import pytest
import spirloom.executorch  # noqa: F401
import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.devtools import Inspector, generate_etrecord
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime, Verification


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.last = torch.nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.last(torch.relu(self.first(x))), -1)


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Inspector:
    folder: Path = tmp_path_factory.mktemp("events")
    module, x = Net().eval(), torch.randn(2, 16)
    edge = to_edge_transform_and_lower(
        torch.export.export(module, (x,)), partitioner=[VulkanPartitioner()]
    )
    copied = __import__("copy").deepcopy(edge)
    manager = edge.to_executorch()
    record = folder / "net.etrecord"
    generate_etrecord(str(record), copied, manager)
    program = Runtime.get().load_program(
        bytes(manager.buffer), verification=Verification.Minimal, enable_etdump=True
    )
    method = program.load_method("forward")
    for _ in range(3):
        (y,) = method.execute([x])
    torch.testing.assert_close(y, module(x), rtol=1e-5, atol=1e-5)
    dump, debug = folder / "net.etdp", folder / "debug.bin"
    program.write_etdump_result_to_file(str(dump), str(debug))
    return Inspector(etdump_path=str(dump), etrecord=str(record))


def test_rows_have_ids_times_and_operators(inspector: Inspector) -> None:
    for block in inspector.event_blocks:
        for event in block.events:
            print(block.name, event.name, event.op_types, event.is_delegated_op, event.delegate_backend_name, event.perf_data and event.perf_data.raw, event._delegate_debug_metadatas, event.debug_handles, event._instruction_id)
