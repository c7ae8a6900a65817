"""Debug handles of the model in programs that ExecuTorch's Vulkan partitioner lowers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def model_debug_handles() -> Iterator[None]:
    """Within the context, delegates of VulkanPartitioner refer to the nodes of the model.

    ExecuTorch 1.5 replaces the debug handles of these nodes by numbers of the delegate's own graph,
    so that `Inspector` finds no operator types, stack traces and modules for the events of a
    delegate. `SpirloomPartitioner` does not need this.

        with spirloom.executorch.model_debug_handles():
            edge = to_edge_transform_and_lower(
                exported, partitioner=[VulkanPartitioner()], generate_etrecord=True
            )

    It replaces a method of ExecuTorch's `VkGraphBuilder`, also for other threads.
    """
    from executorch.backends.vulkan.serialization.vulkan_graph_builder import VkGraphBuilder

    original = VkGraphBuilder.process_node

    def process_node(self: Any, node: Any, call_node_debug_hdl: int) -> None:
        if node.op == "call_function":
            call_node_debug_hdl = _handle_of(node, call_node_debug_hdl)
        original(self, node, call_node_debug_hdl)

    VkGraphBuilder.process_node = process_node
    try:
        yield
    finally:
        VkGraphBuilder.process_node = original


def _handle_of(node: Any, default: int) -> int:
    """The handle of a node, or that of an operand or a user for nodes that the lowering inserts."""
    for each in (node, *node.all_input_nodes, *node.users):
        handle = each.meta.get("debug_handle")
        if isinstance(handle, int) and handle > 0:
            return handle
    return default
