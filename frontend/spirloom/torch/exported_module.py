"""An exported program that is called: its arguments, buffers and outputs around what runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spirloom.partition import Report
from spirloom.torch.export import decompose
from spirloom.torch.exported_program import MUTATIONS, WEIGHTS, meta_of, range_of
from spirloom.torch.fx_program import read_traced, sizes_of
from spirloom.torch.program import SizeOf
from spirloom.torch.segments import Builds, Execution, Setting
from spirloom.torch.weight_snapshot import Frozen


class ExportedModule:
    """A program with its weights; `Sized` runs it. `outgrown` is as of Builds."""

    def __init__(self, exported: Any, setting: Setting, outgrown: Callable[[], None]) -> None:
        self._outgrown = outgrown
        self.exported = decompose(exported, setting.library)
        self.setting = setting
        signature = self.exported.graph_signature
        self.writes = {
            at: spec.target
            for at, spec in enumerate(signature.output_specs)
            if spec.kind.name in MUTATIONS
        }
        self.inputs = signature.input_specs
        self.tensors = {**self.exported.state_dict, **self.exported.constants}
        self.weights = {
            spec.arg.name: self.tensors[spec.target]
            for spec in self.inputs
            if spec.kind.name in WEIGHTS and spec.target not in self.writes.values()
        }
        self.traced = read_traced(self.exported.graph_module, self.weights)
        self._renew()
        self.in_spec, self.out_spec = self.exported.call_spec

    def execution(self, values: Sequence[Any]) -> tuple[Frozen, Execution]:
        """For the sizes of these values of the placeholders, and the weights as they are."""
        if self._frozen.changed():
            self._renew()
        sizes = sizes_of(self.exported.graph_module, values)
        built, found = self._builds.at(sizes)
        return self._frozen, Execution(self.traced, self.weights, sizes, built, found)

    def _renew(self) -> None:
        """Begins anew, with the weights as they are."""
        ranges = {str(s): range_of(r) for s, r in self.exported.range_constraints.items()}
        self._frozen = Frozen(self.weights)
        self._builds = Builds(self.traced, self.setting, ranges, self._outgrown)

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """One value for each placeholder; `leaves` are those of a call."""
        given = iter(leaves)
        return [
            next(given) if spec.kind.name == "USER_INPUT" else self.tensors.get(spec.target)
            for spec in self.inputs
        ]

    def fits(self, leaves: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether it was exported for arguments of this structure, these types and sizes."""
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


class Sized:
    """An exported module at the sizes of some arguments; prepared again when weights change."""

    def __init__(self, whole: ExportedModule, leaves: Sequence[Any]) -> None:
        self._whole = whole
        self._places = {spec.arg.name: at for at, spec in enumerate(whole.inputs)}
        self._prepare(whole.arguments(leaves))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """What the module gives, in its own structure."""
        import torch
        from torch.utils._pytree import tree_unflatten

        whole = self._whole
        values = whole.arguments(leaves)
        if self._frozen.changed():
            self._prepare(values)
        with torch.no_grad():
            results = self._run(values)
            for at, target in whole.writes.items():
                own = whole.tensors.get(target)
                (values[self._places[target]] if own is None else own).copy_(results[at])
        if whole.writes:
            results = [value for at, value in enumerate(results) if at not in whole.writes]
        return tree_unflatten(results, whole.out_spec)

    @property
    def report(self) -> Report:
        """What goes where."""
        return self._run.report

    def _prepare(self, values: Sequence[Any]) -> None:
        self._frozen, self._run = self._whole.execution(values)


def _fits(meta: Any, value: Any, symbols: dict[str, int]) -> bool:
    """Whether a value is as at the export; notes what the symbols of its sizes are."""
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
        symbol = size.symbol() if isinstance(size, SizeOf) else None
        if symbol is not None and symbols.setdefault(symbol, own) != own:
            return False
    return all(
        own == (size if isinstance(size, int) else size.value(symbols))
        for size, own in zip(sizes, value.shape, strict=True)
    )
