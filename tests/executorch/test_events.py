"""ExecuTorch's event tracer receives an event per dispatch, named by the delegated call."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.backends.vulkan.serialization.vulkan_graph_builder import VkGraphBuilder
from executorch.devtools import Inspector
from executorch.devtools.inspector import Event
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime, Verification
from spirloom.executorch import model_debug_handles

RUNS = 3


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
    with model_debug_handles():
        edge = to_edge_transform_and_lower(
            torch.export.export(module, (x,)),
            partitioner=[VulkanPartitioner()],
            generate_etrecord=True,
        )
    manager = edge.to_executorch()
    record = folder / "net.etrecord"
    manager.get_etrecord().save(record)
    program = Runtime.get().load_program(
        bytes(manager.buffer), verification=Verification.Minimal, enable_etdump=True
    )
    method = program.load_method("forward")
    for _ in range(RUNS):
        (y,) = method.execute([x])
    torch.testing.assert_close(y, module(x), rtol=1e-5, atol=1e-5)
    dump, debug = folder / "net.etdp", folder / "debug.bin"
    program.write_etdump_result_to_file(str(dump), str(debug))
    return Inspector(etdump_path=str(dump), etrecord=str(record))


def rows_of(inspector: Inspector) -> list[Event]:
    (block,) = (block for block in inspector.event_blocks if block.name == "Execute")
    return [event for event in block.events if event.is_delegated_op]


def test_each_call_has_an_event_with_name_and_kernel(inspector: Inspector) -> None:
    rows = rows_of(inspector)
    kernels = [row._delegate_debug_metadatas[0].decode() for row in rows]
    assert [kernel.partition("_")[0] for kernel in kernels] == [
        "linear",
        "relu",
        "linear",
        "softmax",
    ]
    assert all(row.delegate_backend_name == "VulkanBackend" for row in rows)
    names = [row.name.partition(" #") for row in rows]
    operators = [operator for operator, _, _ in names]
    assert operators == ["aten.linear", "aten.relu", "aten.linear", "aten._softmax"]
    ids = [int(number) for _, _, number in names]
    assert ids == sorted(set(ids))


def test_calls_refer_to_the_source_of_the_model(inspector: Inspector) -> None:
    rows = rows_of(inspector)
    operators = [" ".join(row.op_types) for row in rows]
    for operator, part in zip(operators, ["addmm", "relu", "addmm", "_softmax"], strict=True):
        assert f"aten.{part}" in operator
    for row in rows:
        assert row.stack_traces
        assert all("test_events.py" in trace for trace in row.stack_traces.values())
    modules = [str(list(row.module_hierarchy.values())[-1]) for row in rows]
    for module, name in zip(modules, ["first", "Net", "last", "Net"], strict=True):
        assert name in module


def test_handles_are_those_of_executorch_outside_of_the_context() -> None:
    builder = VkGraphBuilder.process_node
    with pytest.raises(ValueError, match="stop"), model_debug_handles():
        assert VkGraphBuilder.process_node is not builder
        raise ValueError("stop")
    assert VkGraphBuilder.process_node is builder


def test_times_are_device_times(inspector: Inspector) -> None:
    (block,) = (block for block in inspector.event_blocks if block.name == "Execute")
    (whole,) = (event for event in block.events if event.name == "DELEGATE_CALL")
    times = [row.perf_data.raw for row in rows_of(inspector)]
    for run in range(RUNS):
        assert all(time[run] > 0 for time in times)
        assert sum(time[run] for time in times) < whole.perf_data.raw[run]
