"""ExecuTorch's event tracer receives an event per dispatch of SpirloomBackend delegates."""

from __future__ import annotations

from pathlib import Path

import torch
from executorch.devtools import Inspector
from executorch.runtime import Runtime, Verification

from tests.executorch.partitioned import lowered
from tests.executorch.test_networks import Mlp


def test_events_have_the_debug_handles_of_nodes(tmp_path: Path) -> None:
    module, x = Mlp().eval(), torch.randn(5, 6)
    manager = lowered(torch.export.export(module, (x,)), generate_etrecord=True).to_executorch()
    manager.get_etrecord().save(tmp_path / "net.etrecord")
    program = Runtime.get().load_program(
        bytes(manager.buffer), verification=Verification.Minimal, enable_etdump=True
    )
    program.load_method("forward").execute([x])
    program.write_etdump_result_to_file(str(tmp_path / "net.etdp"), str(tmp_path / "debug.bin"))
    found = Inspector(
        etdump_path=str(tmp_path / "net.etdp"), etrecord=str(tmp_path / "net.etrecord")
    )
    (block,) = (block for block in found.event_blocks if block.name == "Execute")
    rows = [event for event in block.events if event.is_delegated_op]
    kernels = [row._delegate_debug_metadatas[0].decode().partition("_")[0] for row in rows]
    assert "linear" in kernels
    assert all(row.delegate_backend_name == "SpirloomBackend" for row in rows)
    assert all(row.perf_data.raw[0] > 0 for row in rows)
    computing = [row for row in rows if row.debug_handles]
    assert len(computing) >= 2
    assert any("linear" in str(row.op_types) for row in computing)
    for row in computing:
        assert all("test_networks.py" in trace for trace in row.stack_traces.values())
        assert all("Mlp" in str(modules) for modules in row.module_hierarchy.values())
