"""Compiled segments of a traced graph: built per set of sizes, cached, and run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from spirloom import graph_file
from spirloom.errors import NodesUnsupported, SpirloomError
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Network, Plan, Report, Segment, report
from spirloom.passes import optimize_sizes
from spirloom.runtime import Model, Runtime, default_runtime
from spirloom.runtime.runtime import StorageName
from spirloom.sizes import Symbol
from spirloom.torch.execution_plan import DeviceStep, HostStep, Step, Values
from spirloom.torch.fx_program import Traced, layout_of, views_of_inputs
from spirloom.torch.options import Options
from spirloom.torch.partition import device_graph, host_module, planned
from spirloom.torch.program import Given, Range, Ref
from spirloom.torch.support_survey import Limits, Survey, survey
from spirloom.varying.generalize import generalize


@dataclass(frozen=True, slots=True)
class Setting:
    """What all parts of a module are compiled with."""

    library: OpLibrary = field(default_factory=OpLibrary)
    options: Options = field(default_factory=Options)
    runtime: Runtime | None = None
    storage: StorageName = "auto"
    costs: Costs = field(default_factory=Costs)

    def device(self) -> Runtime:
        """The runtime that models are loaded with."""
        return self.runtime or default_runtime()


@dataclass(frozen=True, slots=True)
class Built:
    """A plan, and for each of its segments the model that runs it; None of those of the host.

    `found` is of the sizes that it was planned for. A model takes one call at a time: `lock`.
    """

    network: Network
    plan: Plan
    models: tuple[Model | None, ...]
    found: Survey
    lock: Lock = field(default_factory=Lock)


class CannotVary(Exception):
    """A segment can be built for fixed sizes alone."""


def build(
    traced: Traced, sizes: Mapping[str, int], setting: Setting, symbols: Sequence[Symbol] = ()
) -> Built:
    """Plans, and plans again without what a segment turned out not to be able to compute.

    With symbols, `sizes` are their greatest ones, and the models take all others as well; raises
    CannotVary.
    """
    builder = _Builder(traced, sizes, setting, symbols)
    refused = views_of_inputs(traced)
    network, plan, models = planned(
        traced.program,
        builder.found,
        setting.library,
        setting.options,
        sizes,
        builder.model,
        refused,
        setting.costs,
    )
    return Built(network, plan, models, builder.found)


class _Builder:
    """Builds segments of a program, which is surveyed once for each set of sizes."""

    def __init__(
        self, traced: Traced, sizes: Mapping[str, int], setting: Setting, symbols: Sequence[Symbol]
    ) -> None:
        self._program = traced.program
        self._sizes = sizes
        self._setting = setting
        self._symbols = symbols
        device = setting.device().device
        limits = Limits(device.max_storage_buffer_range, device.name)
        self.found = survey(self._program, setting.library, setting.options, sizes, limits)
        self._surveys = {tuple(sizes.values()): self.found}

    def model(self, segment: Segment) -> Model:
        """The segment on the device. Raises SpirloomError and CannotVary."""
        setting = self._setting
        try:
            data = graph_file.to_bytes(self._graph(segment))
            return setting.device().load(data, storage=setting.storage)
        except NodesUnsupported:
            raise
        except SpirloomError as error:
            if self._symbols:
                raise CannotVary(str(error)) from error
            raise

    def _graph(self, segment: Segment) -> Graph:
        if not self._symbols:
            return self._sized(segment, self._sizes)
        open_sizes = self._program.symbols_of(segment.takes)
        if open_sizes != {symbol.name for symbol in self._symbols}:
            raise CannotVary("its inputs do not tell every size")

        def make(chosen: Mapping[str, int]) -> Graph:
            return self._sized(segment, {**self._sizes, **chosen})

        setting = self._setting
        graph = generalize(make, self._symbols, setting.library)
        return optimize_sizes(graph, setting.library, setting.options.skip)

    def _sized(self, segment: Segment, sizes: Mapping[str, int]) -> Graph:
        setting, key = self._setting, tuple(sizes.values())
        if key not in self._surveys:
            found = survey(self._program, setting.library, setting.options, sizes)
            self._surveys[key] = found
        return device_graph(
            self._program,
            self._surveys[key],
            segment,
            setting.library,
            setting.options,
            sizes,
            sizes_vary=bool(self._symbols),
        )


class Execution:
    """What a call of a traced graph does. `weights` are the values of fixed placeholders.

    `found` is of these sizes, `built` of these or of all.
    """

    def __init__(
        self,
        traced: Traced,
        weights: Mapping[str, Any],
        sizes: Mapping[str, int],
        built: Built,
        found: Survey,
    ) -> None:
        self.report: Report = report(built.network, built.plan)
        self._places: dict[str, int] = {}
        self._constants: Values = []
        self._found = found
        self._lock = built.lock
        self._sizes = sizes
        self._values = {n.name: n.meta.get("val") for n in traced.module.graph.nodes}
        self._traced = traced
        names = [n.name for n in traced.module.graph.nodes if n.op == "placeholder"]
        self._args = [self._place(name) for name in names]
        self._steps = [
            self._host_step(segment) if model is None else self._device_step(segment, model)
            for segment, model in zip(built.plan.segments, built.models, strict=True)
        ]
        self._outputs = [self._output(given) for given in traced.program.outputs]
        for name, tensor in weights.items():
            self._constants[self._place(name)] = tensor

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """The outputs for values of all placeholders."""
        values = self._constants.copy()
        for at, value in zip(self._args, args, strict=True):
            values[at] = value
        for step in self._steps:
            step(values)
        return [values[at] for at in self._outputs]

    def _place(self, name: str) -> int:
        """Where a value is in a call; what is known is there from the beginning."""
        import torch

        if name not in self._places:
            self._places[name] = len(self._constants)
            known = self._found.known.get(name)
            if isinstance(known, np.ndarray):
                dtype = getattr(torch, self._traced.program.metas[name].dtype)
                known = torch.from_numpy(np.ascontiguousarray(known)).to(dtype)
            self._constants.append(known)
        return self._places[name]

    def _output(self, given: Given) -> int:
        if isinstance(given, Ref):
            return self._place(given.name)
        self._constants.append(given)
        return len(self._constants) - 1

    def _host_step(self, segment: Segment) -> Step:
        module, takes = host_module(self._traced, self._found, segment)
        return HostStep(module, [*map(self._place, takes)], [*map(self._place, segment.gives)])

    def _device_step(self, segment: Segment, model: Model) -> Step:
        takes = [self._place(info.name) for info in model.inputs]
        gives = [self._place(name) for name in segment.gives]
        layouts = [layout_of(self._values[name], self._sizes) for name in segment.gives]
        return DeviceStep(model, takes, gives, layouts, self._host_step(segment), self._lock)


log = logging.getLogger("spirloom")

# The least number that is assumed to be the greatest of a size without one.
_MIN_MAX_SIZE = 16


class Builds:
    """Of the weights that are in `traced`, which must not change.

    A size that has no greatest number is given one, a power of two, which grows as sizes come:
    memory and the bounds of whole numbers depend on it. So n sizes take at most log2(n) builds.
    """

    def __init__(
        self,
        traced: Traced,
        setting: Setting,
        ranges: Mapping[str, Range],
        outgrown: Callable[[], None],
    ) -> None:
        """`outgrown` is told before another build, to let go of what has the last one's weights."""
        self._outgrown = outgrown
        self._traced = traced
        self._setting = setting
        names = traced.program.symbols_of(given.name for given in traced.program.inputs)
        self._ranges = {name: ranges.get(name, Range(None, None)) for name in sorted(names)}
        self._greatest: dict[str, int] = {}
        self._varying: Built | None = None
        self._varies = bool(names)

    def at(self, sizes: Mapping[str, int]) -> tuple[Built, Survey]:
        """What computes at these sizes, and what is known at them."""
        built = (
            self._of_all(sizes) if self._varies and sizes.keys() == self._ranges.keys() else None
        )
        if built is None:
            built = build(self._traced, sizes, self._setting)
            return built, built.found
        setting = self._setting
        return built, survey(self._traced.program, setting.library, setting.options, sizes)

    def _of_all(self, sizes: Mapping[str, int]) -> Built | None:
        """A build for these sizes among others; None where the graph cannot vary."""
        if self._varying is not None and all(sizes[n] <= g for n, g in self._greatest.items()):
            return self._varying
        self._varying = None
        self._outgrown()
        self._greatest = {name: self._grown(name, sizes[name]) for name in self._ranges}
        symbols = [
            Symbol(name, max(own.least or 1, 1), self._greatest[name])
            for name, own in self._ranges.items()
        ]
        try:
            self._varying = build(self._traced, self._greatest, self._setting, symbols)
        except CannotVary as error:
            log.info("Prepared anew for each size: %s.", error)
            self._varies = False
        return self._varying

    def _grown(self, name: str, size: int) -> int:
        """The greatest number of a size: its own, or the next power of two from what came."""
        own = self._ranges[name].greatest
        if own is not None:
            return own
        return 1 << (max(size, self._greatest.get(name, 0), _MIN_MAX_SIZE) - 1).bit_length()
