"""The models of a traced graph's segments, made until each of them stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spirloom import graph_file
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Network, Plan
from spirloom.runtime import Model, Runtime, default_runtime
from spirloom.runtime.runtime import StorageName
from spirloom.torch.options import Options
from spirloom.torch.planned import planned
from spirloom.torch.survey import Limits, Survey, survey
from spirloom.torch.traced import Traced, readers_of_layouts, views_of_inputs


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
    """A plan, and for each of its segments the model that runs it; None of those of the host."""

    network: Network
    plan: Plan
    models: tuple[Model | None, ...]
    found: Survey


def build(traced: Traced, sizes: Mapping[str, int], setting: Setting) -> Built:
    """Plans, and plans again without what a segment turned out not to be able to compute."""
    program, library, options = traced.program, setting.library, setting.options
    found = survey(program, library, options, sizes, _limits(setting))

    def load(graph: Graph) -> Model:
        return setting.device().load(graph_file.to_bytes(graph), storage=setting.storage)

    refused = views_of_inputs(traced) | readers_of_layouts(traced, sizes)
    network, plan, models = planned(
        program, found, library, options, sizes, load, refused, setting.costs
    )
    return Built(network, plan, models, found)


def _limits(setting: Setting) -> Limits:
    device = setting.device().device
    return Limits(device.max_storage_buffer_range, device.name)
