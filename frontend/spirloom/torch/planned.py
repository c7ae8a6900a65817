"""Plans a program, and again without what a segment turned out not to be able to compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from spirloom.errors import NodesUnsupported, SpirloomError
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Network, Plan, Report, Segment, Side, partition, report
from spirloom.torch.build import symbols_of
from spirloom.torch.call_names import names_of
from spirloom.torch.described import described, groups_of
from spirloom.torch.options import Options
from spirloom.torch.parts import device_graph
from spirloom.torch.program import Program
from spirloom.torch.survey import Survey, survey

Made = TypeVar("Made")
Describe = Callable[
    [Program, Survey, Mapping[str, int], tuple[tuple[int, ...], ...], Mapping[int, str]], Network
]


class _Refused(Exception):
    """What a segment cannot be built of."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__()
        self.reasons = reasons


def planned(
    program: Program,
    found: Survey,
    library: OpLibrary,
    options: Options,
    sizes: Mapping[str, int],
    make: Callable[[Segment], Made],
    refused: Mapping[int, str] | None = None,
    costs: Costs | None = None,
    describe: Describe = described,
) -> tuple[Network, Plan, tuple[Made | None, ...]]:
    """A plan whose segments can be built, and what `make` made of each; None of those of the host.

    `make` raises SpirloomError. `refused` are calls that stay, and why; `describe` gives the
    network without them. The survey's graph is given away.
    """
    stay = dict(refused or {})
    stays = bool(stay) or any(found.reasons)
    groups = groups_of(program, found, library, options.skip) if stays else ()
    while True:
        network = describe(program, found, sizes, groups, stay)
        plan = partition(network, costs)
        try:
            made = tuple(
                None if segment.side is Side.HOST else _made(program, segment, make)
                for segment in plan.segments
            )
            return network, plan, made
        except _Refused as error:
            stay |= error.reasons


def report_of(program: Program, library: OpLibrary, options: Options) -> Report:
    """What goes where, of any program, at the greatest of its sizes. Raises ImportFailure."""
    fixed, symbols = symbols_of(program, options)
    sizes = fixed | {symbol.name: symbol.greatest for symbol in symbols}
    found = survey(program, library, options, sizes)

    def make(segment: Segment) -> None:
        device_graph(program, found, segment, library, options, sizes)

    network, plan, _ = planned(program, found, library, options, sizes, make)
    return report(network, plan)


def _made(program: Program, segment: Segment, make: Callable[[Segment], Made]) -> Made:
    """What is made of a segment of the device. Raises _Refused."""
    try:
        return make(segment)
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
        names = names_of(call)
        for problem in error.problems:
            own = problem.name.rpartition("/")[2]
            if problem.op == call.target and (own in names or problem.name == call.module):
                yield i, problem.reason
