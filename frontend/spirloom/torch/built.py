"""The models of a traced graph's segments, made until each of them stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from spirloom import graph_file
from spirloom.errors import NodesUnsupported, SpirloomError
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Network, Plan, Segment, Side, partition
from spirloom.runtime import Model, Runtime, StorageName, default_runtime
from spirloom.torch.described import described, groups_of
from spirloom.torch.options import Options
from spirloom.torch.parts import device_graph
from spirloom.torch.program import Program
from spirloom.torch.survey import Limits, Survey, survey
from spirloom.torch.traced import Traced, views_of_inputs


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


class _Refused(Exception):
    """What a segment cannot be built of."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__()
        self.reasons = reasons


def build(traced: Traced, sizes: Mapping[str, int], setting: Setting) -> Built:
    """Plans, and plans again without what a segment turned out not to be able to compute."""
    program, library, options = traced.program, setting.library, setting.options
    found = survey(program, library, options, sizes, _limits(setting))
    groups = groups_of(program, found, library, options.skip)
    refused = views_of_inputs(traced)
    while True:
        network = described(program, found, sizes, groups, refused)
        plan = partition(network, setting.costs)
        try:
            models = tuple(
                None if segment.side is Side.HOST
                else _model(program, found, segment, sizes, setting)
                for segment in plan.segments
            )  # fmt: skip
            return Built(network, plan, models, found)
        except _Refused as error:
            refused |= error.reasons


def _limits(setting: Setting) -> Limits:
    device = setting.device().device
    return Limits(device.max_storage_buffer_range, device.name)


def _model(
    program: Program, found: Survey, segment: Segment, sizes: Mapping[str, int], setting: Setting
) -> Model:
    """The segment on the device. Raises _Refused."""
    try:
        graph = device_graph(program, found, segment, setting.library, setting.options, sizes)
        return setting.device().load(graph_file.to_bytes(graph), storage=setting.storage)
    except NodesUnsupported as error:
        blamed = dict(_blamed(error, program, segment))
        raise _Refused(blamed or dict.fromkeys(segment.nodes, str(error))) from error
    except SpirloomError as error:
        raise _Refused(dict.fromkeys(segment.nodes, str(error).splitlines()[0])) from error


def _blamed(
    error: NodesUnsupported, program: Program, segment: Segment
) -> Iterator[tuple[int, str]]:
    for i in segment.nodes:
        call = program.calls[i]
        names = {name for r in call.results for name in (r if isinstance(r, tuple) else (r,))}
        for problem in error.problems:
            own = problem.name.rpartition("/")[2]
            if problem.op == call.target and (own in names or problem.name == call.module):
                yield i, problem.reason
