"""The models of a traced graph's segments, made until each of them stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from spirloom import graph_file
from spirloom.errors import NodesUnsupported, SpirloomError
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Network, Plan, Segment
from spirloom.passes import optimize_sizes
from spirloom.runtime import Model, Runtime, default_runtime
from spirloom.runtime.load_options import StorageName
from spirloom.sizes import Symbol
from spirloom.torch.options import Options
from spirloom.torch.parts import device_graph
from spirloom.torch.planned import planned
from spirloom.torch.survey import Limits, Survey, survey
from spirloom.torch.traced import Traced, views_of_inputs
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
