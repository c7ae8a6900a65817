"""SpirloomPartitioner: what of a program goes to Spirloom, for to_edge_transform_and_lower."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram

from spirloom.executorch.backend import SpirloomBackend
from spirloom.executorch.capability import Placement, place
from spirloom.executorch.edge import operator_name
from spirloom.executorch.options import CompileOptions
from spirloom.executorch.states import tag_states
from spirloom.ops import OpLibrary
from spirloom.torch.coverage import handles
from spirloom.torch.exported import is_part
from spirloom.torch.module_paths import module_path

log = logging.getLogger("spirloom.executorch")


class SpirloomPartitioner(Partitioner):  # type: ignore[misc]
    """Takes what the specs say that the device can compute, in as few delegates as can be.

        edge = to_edge_transform_and_lower(
            exported, partitioner=[SpirloomPartitioner({"force_fp16": True})]
        )

    The options are those of `CompileOptions`. Each node that stays is a line of the logger
    "spirloom.executorch", at level INFO, with the reason. Raises ValueError for a wrong option.
    """

    def __init__(self, compile_options: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__()
        self.options = CompileOptions.of({**(compile_options or {}), **options})
        specs = [CompileSpec(name, value) for name, value in self.options.specs().items()]
        self.delegation_spec = DelegationSpec(SpirloomBackend.__name__, specs)
        self._library = OpLibrary()
        self._kept: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """The operators that ExecuTorch would take apart and that all go to the device whole."""
        if ep not in self._kept:
            self._kept[ep] = self._whole(ep)
        return self._kept[ep], None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that go, each with the delegate that it is of."""
        placement = place(exported_program, self._library, self.options, build=True)
        tags = {}
        for node, segment in placement.segments.items():
            tag = f"spirloom_{segment}"
            tags[tag] = self.delegation_spec
            for tagged in (node, *(user for user in node.users if is_part(user))):
                tagged.meta["delegation_tag"] = tag
        self._tell(placement)
        tag_constant_data(exported_program)
        if self.options.states:
            tag_states(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def _tell(self, placement: Placement) -> None:
        for node, reason in placement.staying.items():
            operator = operator_name(node.target, self._library)
            log.info("%s (%s)%s stays: %s", node.name, operator, _place(node), reason)
        count = len(set(placement.segments.values()))
        log.info("%d nodes go to the device in %d delegates", len(placement.segments), count)

    def _whole(self, ep: ExportedProgram) -> list[Any]:
        """Nothing of a program of the edge dialect, which has been taken apart before."""
        import torch

        table = torch.export.default_decompositions()
        asked = {
            node.target
            for node in ep.graph.nodes
            if isinstance(node.target, torch._ops.OpOverload) and node.target in table
        }
        asked = {op for op in asked if self._may_stay_whole(op)}
        if not asked:
            return []
        placement = place(ep, self._library, self.options, build=False)
        asked -= {node.target for node in placement.staying}
        return sorted(asked, key=str)

    def _may_stay_whole(self, op: Any) -> bool:
        """Not what writes its arguments, or gives views of them: the edge dialect has none."""
        schema = op._schema
        aliases = any(value.alias_info is not None
                      for value in (*schema.returns, *schema.arguments))  # fmt: skip
        return not aliases and handles(operator_name(op, self._library), self._library)


def _place(node: Any) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    path = module_path([path for path, _ in stack.values()])
    return f" in {path}" if path else ""
