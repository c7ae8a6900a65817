"""Modules lowered with SpirloomPartitioner."""

from __future__ import annotations

from typing import Any

import torch
from executorch.exir import to_edge_transform_and_lower
from spirloom.executorch import SpirloomPartitioner

from tests.executorch.programs import Inputs, Lowered


def lowered(exported: Any, generate_etrecord: bool = False, **options: Any) -> Any:
    """Lowers an exported program with SpirloomPartitioner."""
    partitioner = [SpirloomPartitioner(options)]
    with torch.no_grad():
        return to_edge_transform_and_lower(
            exported, partitioner=partitioner, generate_etrecord=generate_etrecord
        )


class PartitionedProgram(Lowered):
    """A module as a program (.pte) lowered with SpirloomPartitioner."""

    def __init__(
        self, module: torch.nn.Module, inputs: Inputs, dynamic_shapes: Any = None, **options: Any
    ) -> None:
        if not isinstance(module, torch.fx.GraphModule):  # PT2E modules do not support eval()
            module.eval()
        with torch.no_grad():
            exported = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes)
            self.manager = lowered(exported, **options).to_executorch()
        self.buffer = bytes(self.manager.buffer)

    @property
    def payloads(self) -> list[bytes]:
        """The graph files of its delegates."""
        program = self.manager.executorch_program
        plan = program.execution_plan[0]
        assert {delegate.id for delegate in plan.delegates} <= {"SpirloomBackend"}
        return [
            bytes(program.backend_delegate_data[delegate.processed.index].data)
            for delegate in plan.delegates
        ]
