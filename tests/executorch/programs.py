"""ExecuTorch programs: modules lowered with its Vulkan partitioner, run by its runtime."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Sequence
from typing import Any

import spirloom.executorch
import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.backends.vulkan.patterns import fusable_patterns
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.runtime import Runtime, Verification
from torch._export import utils

logging.getLogger().setLevel(logging.WARNING)


def export_faster() -> None:
    """Caches ExecuTorch's pattern graphs, which its own `lru_cache` fails to do.

    Rebuilding them for each program takes 90 % of the export time. Half of the rest is PyTorch's
    list of its operators, which is cached too.
    """
    for pattern in fusable_patterns.values():
        if pattern.get_graphs_fn is not None:
            pattern.get_graphs_fn = functools.cache(pattern.get_graphs_fn)
    utils._materialize_cpp_cia_ops = functools.cache(utils._materialize_cpp_cia_ops)


export_faster()

Inputs = tuple[Any, ...]


class Module(torch.nn.Module):  # type: ignore[misc]
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class Lowered:
    """A module as a program (.pte)."""

    def __init__(
        self,
        module: torch.nn.Module,
        inputs: Inputs,
        dynamic_shapes: Any = None,
        config: EdgeCompileConfig | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(module, torch.fx.GraphModule):  # PT2E modules do not support eval()
            module.eval()
        self.exported = torch.export.export(module, inputs, dynamic_shapes=dynamic_shapes)
        edge = to_edge_transform_and_lower(
            self.exported, partitioner=[VulkanPartitioner(options)], compile_config=config
        )
        self.manager = edge.to_executorch()
        self.buffer = bytes(self.manager.buffer)

    @property
    def input_shapes(self) -> list[torch.Size]:
        """The shapes of the inputs, with symbols for dynamic sizes."""
        names = self.exported.graph_signature.user_inputs
        found = {node.name: node for node in self.exported.graph.nodes}
        return [found[name].meta["val"].shape for name in names]

    @property
    def delegates(self) -> int:
        """The number of delegates."""
        return len(self.manager.executorch_program.execution_plan[0].delegates)

    @property
    def kernels(self) -> list[str]:
        """The operators that run in ExecuTorch's kernels."""
        plan = self.manager.executorch_program.execution_plan[0]
        return [operator.name for operator in plan.operators]

    @property
    def names(self) -> set[str]:
        """The operators in its delegates."""
        return names_in(self.buffer)


def names_in(program: bytes) -> set[str]:
    """The names of operators in the delegates' graphs, without `.default`."""
    found = re.findall(
        rb"(?:aten|et_vk|dim_order_ops)\.[A-Za-z_0-9]+(?:\.[A-Za-z_0-9]+)?\0", program
    )
    return {name[:-1].decode().removesuffix(".default") for name in found}


def load(program: bytes) -> Any:
    """Loads the method `forward`. RuntimeError with the delegate's message if that fails."""
    loaded = Runtime.get().load_program(program, verification=Verification.Minimal)
    try:
        method = loaded.load_method("forward")
        method.program = loaded  # keeps the bytes alive
        return method
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {spirloom.executorch.last_error()}") from None


def run(method: Any, inputs: Inputs) -> Sequence[torch.Tensor]:
    """Runs a method. RuntimeError as load()."""
    try:
        results: Sequence[torch.Tensor] = method.execute(list(inputs))
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {spirloom.executorch.last_error()}") from None
    return results


def check(module: torch.nn.Module, method: Any, inputs: Inputs, tolerance: float = 1e-5) -> None:
    """Compares the results of the method and of the module."""
    with torch.no_grad():
        expected = module(*inputs)
    outputs = run(method, inputs)
    all_expected = expected if isinstance(expected, tuple | list) else (expected,)
    assert len(outputs) == len(all_expected)
    for ours, theirs in zip(outputs, all_expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        torch.testing.assert_close(
            ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False
        )
