"""Runs an exported program in process: arguments, buffers, outputs, and size-specific plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spirloom.partition import Report
from spirloom.torch.export import decompose
from spirloom.torch.exported_program import WEIGHTS, meta_of, range_of
from spirloom.torch.fx_program import read_traced, sizes_of
from spirloom.torch.program import MUTATIONS, SizeExpr
from spirloom.torch.segments import CompileSettings, Execution, SizeCache
from spirloom.torch.weight_snapshot import WeightSnapshot


class ExportedModule:
    """A program with its weights; `SizedModule` runs it. `on_rebuild`: see SizeCache."""

    def __init__(
        self, exported: Any, settings: CompileSettings, on_rebuild: Callable[[], None]
    ) -> None:
        self._on_rebuild = on_rebuild
        self.exported = decompose(exported, settings.library)
        self.settings = settings
        signature = self.exported.graph_signature
        self.writes = {
            at: spec.target
            for at, spec in enumerate(signature.output_specs)
            if spec.kind.name.lower() in MUTATIONS
        }
        self.inputs = signature.input_specs
        self.tensors = {**self.exported.state_dict, **self.exported.constants}
        self.weights = {
            spec.arg.name: self.tensors[spec.target]
            for spec in self.inputs
            if spec.kind.name in WEIGHTS and spec.target not in self.writes.values()
        }
        self.traced = read_traced(self.exported.graph_module, self.weights)
        self._reset()
        self.in_spec, self.out_spec = self.exported.call_spec

    def execution(self, values: Sequence[Any]) -> tuple[WeightSnapshot, Execution]:
        """The execution for the sizes of these placeholder values and the current weights."""
        if self._snapshot.changed():
            self._reset()
        sizes = sizes_of(self.exported.graph_module, values)
        plan, found = self._cache.at(sizes)
        return self._snapshot, Execution(self.traced, self.weights, sizes, plan, found)

    def _reset(self) -> None:
        """Discards all plans and takes a snapshot of the current weights."""
        ranges = {str(s): range_of(r) for s, r in self.exported.range_constraints.items()}
        self._snapshot = WeightSnapshot(self.weights)
        self._cache = SizeCache(self.traced, self.settings, ranges, self._on_rebuild)

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """One value per placeholder, from the leaves of a call's arguments."""
        users = iter(leaves)
        return [
            next(users) if spec.kind.name == "USER_INPUT" else self.tensors.get(spec.target)
            for spec in self.inputs
        ]

    def fits(self, leaves: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether the program was exported for arguments of this structure, type and size."""
        from torch.utils._pytree import tree_structure

        structure = tree_structure((tuple(args), dict(sorted(kwargs.items()))))
        if structure != self.in_spec:
            return False
        users = [spec.arg for spec in self.inputs if spec.kind.name == "USER_INPUT"]
        nodes = {node.name: node for node in self.exported.graph.nodes}
        symbols: dict[str, int] = {}
        for spec, value in zip(users, leaves, strict=True):
            meta = nodes[spec.name].meta.get("val") if spec.name in nodes else spec.value
            if not _fits(meta, value, symbols):
                return False
        ranges = {str(s): r for s, r in self.exported.range_constraints.items()}
        return all(
            name not in ranges or ranges[name].lower <= size <= ranges[name].upper
            for name, size in symbols.items()
        )


class SizedModule:
    """An exported module for one set of argument sizes. Prepared again when weights change."""

    def __init__(self, module: ExportedModule, leaves: Sequence[Any]) -> None:
        self._module = module
        self._input_indices = {spec.arg.name: i for i, spec in enumerate(module.inputs)}
        self._prepare(module.arguments(leaves))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """The module's result, in its own structure."""
        import torch
        from torch.utils._pytree import tree_unflatten

        module = self._module
        values = module.arguments(leaves)
        if self._snapshot.changed():
            self._prepare(values)
        with torch.no_grad():
            results = self._run(values)
            for i, target in module.writes.items():
                own = module.tensors.get(target)
                (values[self._input_indices[target]] if own is None else own).copy_(results[i])
        if module.writes:
            results = [value for i, value in enumerate(results) if i not in module.writes]
        return tree_unflatten(results, module.out_spec)

    @property
    def report(self) -> Report:
        """The partition into host and device segments."""
        return self._run.report

    def _prepare(self, values: Sequence[Any]) -> None:
        self._snapshot, self._run = self._module.execution(values)


def _fits(meta: Any, value: Any, symbols: dict[str, int]) -> bool:
    """Whether a value matches the exported one; adds the values of its size symbols."""
    import torch

    if not isinstance(meta, torch.Tensor):
        return isinstance(value, bool | int | float | str | None) and (
            not isinstance(meta, bool | int | float | str) or meta == value
        )
    if not isinstance(value, torch.Tensor) or value.dtype != meta.dtype:
        return False
    sizes = meta_of(meta).shape
    if len(sizes) != value.dim():
        return False
    for size, own in zip(sizes, value.shape, strict=True):
        symbol = size.symbol() if isinstance(size, SizeExpr) else None
        if symbol is not None and symbols.setdefault(symbol, own) != own:
            return False
    return all(
        own == (size if isinstance(size, int) else size.value(symbols))
        for size, own in zip(sizes, value.shape, strict=True)
    )
