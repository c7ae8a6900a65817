"""Compiled segments of a traced graph: built per set of sizes, cached and executed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from spec_model.symbolic import size_of
from spirloom import graph_file
from spirloom.errors import NodesUnsupported, SpirloomError
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.partition import Costs, Network, Plan, Report, Segment, report
from spirloom.passes import optimize_sizes
from spirloom.runtime import Model, Runtime, default_runtime
from spirloom.runtime.runtime import StorageName
from spirloom.sizes import Symbol
from spirloom.symbolic.open_graph import open_graph
from spirloom.torch.execution_plan import DeviceStep, HostStep, Step, Values
from spirloom.torch.fx_program import TracedGraph, layout_of, outputs_viewing_inputs
from spirloom.torch.options import Options
from spirloom.torch.partition import (
    device_graph,
    host_module,
    optimize_segment,
    plain_graph,
    plan_segments,
)
from spirloom.torch.program import ArgValue, Range, Ref
from spirloom.torch.support_survey import Limits, Survey, survey


@dataclass(frozen=True, slots=True)
class CompileSettings:
    """The settings for compiling a module."""

    library: OpLibrary = field(default_factory=OpLibrary)
    options: Options = field(default_factory=Options)
    runtime: Runtime | None = None
    storage: StorageName = "auto"
    costs: Costs = field(default_factory=Costs)

    def device(self) -> Runtime:
        """The runtime that loads the models."""
        return self.runtime or default_runtime()


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A plan with the model of each segment; None for host segments.

    `found`: the survey at the sizes of planning. `lock` serializes calls of the models.
    """

    network: Network
    plan: Plan
    models: tuple[Model | None, ...]
    found: Survey
    lock: Lock = field(default_factory=Lock)


class DynamicSizesUnsupported(Exception):
    """A segment can be built for fixed sizes only."""


def build(
    traced: TracedGraph,
    sizes: Mapping[str, int],
    settings: CompileSettings,
    symbols: Sequence[Symbol] = (),
) -> CompiledPlan:
    """Partitions a graph and builds its device segments.

    With symbols, `sizes` are their maxima, and the models accept all sizes within their bounds;
    raises DynamicSizesUnsupported.
    """
    builder = _Builder(traced, sizes, settings, symbols)
    refused = outputs_viewing_inputs(traced)
    network, plan, models = plan_segments(
        traced.program,
        builder.found,
        settings.library,
        settings.options,
        sizes,
        builder.model,
        refused,
        settings.costs,
    )
    return CompiledPlan(network, plan, models, builder.found)


class _Builder:
    """Builds segments of a program, with one survey per set of sizes."""

    def __init__(
        self,
        traced: TracedGraph,
        sizes: Mapping[str, int],
        settings: CompileSettings,
        symbols: Sequence[Symbol],
    ) -> None:
        self._program = traced.program
        self._sizes = sizes
        self._settings = settings
        self._symbols = symbols
        device = settings.device().device
        limits = Limits(device.max_storage_buffer_range, device.name)
        self.found = survey(self._program, settings.library, settings.options, sizes, limits)
        self._surveys = {tuple(map(size_of, sizes.values())): self.found}

    def model(self, segment: Segment) -> Model:
        """Loads a segment on the device. Raises SpirloomError and DynamicSizesUnsupported."""
        settings = self._settings
        try:
            data = graph_file.to_bytes(self._graph(segment))
            return settings.device().load(data, storage=settings.storage)
        except NodesUnsupported:
            raise
        except SpirloomError as error:
            if self._symbols:
                raise DynamicSizesUnsupported(str(error)) from error
            raise

    def _graph(self, segment: Segment) -> Graph:
        program, settings = self._program, self._settings
        library, options = settings.library, settings.options
        if not self._symbols:
            return device_graph(program, self.found, segment, library, options, self._sizes)
        dynamic_sizes = self._program.symbols_of(segment.inputs)
        if dynamic_sizes != {symbol.name for symbol in self._symbols}:
            raise DynamicSizesUnsupported("a segment's inputs do not have all dynamic sizes")

        def plain(chosen: Mapping[str, int]) -> Graph:
            sizes = {**self._sizes, **chosen}
            return plain_graph(program, self._survey(sizes), segment, library, options, sizes)

        def optimized(graph: Graph) -> Graph:
            optimize_segment(graph, library, options, sizes_vary=True)
            return graph

        graph = open_graph(plain, optimized, self._symbols, library)
        if graph.guards:
            raise DynamicSizesUnsupported(graph.guards[0])
        return optimize_sizes(graph, library, options.skip)

    def _survey(self, sizes: Mapping[str, int]) -> Survey:
        settings, key = self._settings, tuple(map(size_of, sizes.values()))
        if key not in self._surveys:
            found = survey(self._program, settings.library, settings.options, sizes)
            self._surveys[key] = found
        return self._surveys[key]


class Execution:
    """Executes a traced graph at fixed sizes. `weights`: the values of constant placeholders.

    `found` is the survey at these sizes; `plan` was built for these sizes or for all.
    """

    def __init__(
        self,
        traced: TracedGraph,
        weights: Mapping[str, Any],
        sizes: Mapping[str, int],
        plan: CompiledPlan,
        found: Survey,
    ) -> None:
        self.report: Report = report(plan.network, plan.plan)
        self._indices: dict[str, int] = {}
        self._constants: Values = []
        self._found = found
        self._lock = plan.lock
        self._sizes = sizes
        self._values = {n.name: n.meta.get("val") for n in traced.module.graph.nodes}
        self._traced = traced
        names = [n.name for n in traced.module.graph.nodes if n.op == "placeholder"]
        self._args = [self._index(name) for name in names]
        self._steps = [
            self._host_step(segment) if model is None else self._device_step(segment, model)
            for segment, model in zip(plan.plan.segments, plan.models, strict=True)
        ]
        self._outputs = [self._output(given) for given in traced.program.outputs]
        for name, tensor in weights.items():
            self._constants[self._index(name)] = tensor

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """The outputs for the values of all placeholders."""
        values = self._constants.copy()
        for i, value in zip(self._args, args, strict=True):
            values[i] = value
        for step in self._steps:
            step(values)
        return [values[i] for i in self._outputs]

    def _index(self, name: str) -> int:
        """The index of a value in the list of values. Constants are set in advance."""
        import torch

        if name not in self._indices:
            self._indices[name] = len(self._constants)
            known = self._found.known.get(name)
            if isinstance(known, np.ndarray):
                dtype = getattr(torch, self._traced.program.metas[name].dtype)
                known = torch.from_numpy(np.asarray(known, order="C")).to(dtype)
            self._constants.append(known)
        return self._indices[name]

    def _output(self, value: ArgValue) -> int:
        if isinstance(value, Ref):
            return self._index(value.name)
        self._constants.append(value)
        return len(self._constants) - 1

    def _host_step(self, segment: Segment) -> Step:
        module, inputs = host_module(self._traced, self._found, segment)
        return HostStep(module, [*map(self._index, inputs)], [*map(self._index, segment.outputs)])

    def _device_step(self, segment: Segment, model: Model) -> Step:
        inputs = [self._index(info.name) for info in model.inputs]
        outputs = [self._index(name) for name in segment.outputs]
        layouts = [layout_of(self._values[name], self._sizes) for name in segment.outputs]
        return DeviceStep(model, inputs, outputs, layouts, self._host_step(segment), self._lock)


log = logging.getLogger("spirloom")

# The initial maximum of a size without a maximum.
_MIN_MAX_SIZE = 16


class SizeCache:
    """Caches compiled plans by size, for the weights in `traced`, which must not change.

    The plan for dynamic sizes needs a maximum of each size, for memory and integer bounds. A size
    without a maximum gets the next power of two, which grows with the sizes of calls: sizes up to n
    need at most log2(n) builds.
    """

    def __init__(
        self,
        traced: TracedGraph,
        settings: CompileSettings,
        ranges: Mapping[str, Range],
        on_rebuild: Callable[[], None],
    ) -> None:
        """`on_rebuild` is called before a rebuild, to release the previous plan's weights."""
        self._on_rebuild = on_rebuild
        self._traced = traced
        self._settings = settings
        names = traced.program.symbols_of(given.name for given in traced.program.inputs)
        self._ranges = {name: ranges.get(name, Range(None, None)) for name in sorted(names)}
        self._maxima: dict[str, int] = {}
        self._dynamic_plan: CompiledPlan | None = None
        self._supports_dynamic = bool(names)

    def at(self, sizes: Mapping[str, int]) -> tuple[CompiledPlan, Survey]:
        """The plan for these sizes, and the survey at them."""
        is_dynamic = self._supports_dynamic and sizes.keys() == self._ranges.keys()
        plan = self._plan_for_all(sizes) if is_dynamic else None
        if plan is None:
            plan = build(self._traced, sizes, self._settings)
            return plan, plan.found
        settings = self._settings
        return plan, survey(self._traced.program, settings.library, settings.options, sizes)

    def _plan_for_all(self, sizes: Mapping[str, int]) -> CompiledPlan | None:
        """The plan for dynamic sizes that include these; None if the graph requires fixed sizes."""
        if self._dynamic_plan is not None and all(sizes[n] <= m for n, m in self._maxima.items()):
            return self._dynamic_plan
        self._dynamic_plan = None
        self._on_rebuild()
        self._maxima = {name: self._new_maximum(name, sizes[name]) for name in self._ranges}
        symbols = [
            Symbol(name, max(own.min or 1, 1), self._maxima[name])
            for name, own in self._ranges.items()
        ]
        try:
            self._dynamic_plan = build(self._traced, self._maxima, self._settings, symbols)
        except DynamicSizesUnsupported as error:
            log.info("Compiling for each set of sizes: %s.", error)
            self._supports_dynamic = False
        return self._dynamic_plan

    def _new_maximum(self, name: str, size: int) -> int:
        """The maximum of a size: its own, or the next power of two of the sizes so far."""
        own = self._ranges[name].max
        if own is not None:
            return own
        return 1 << (max(size, self._maxima.get(name, 0), _MIN_MAX_SIZE) - 1).bit_length()
