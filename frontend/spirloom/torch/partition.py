"""Partitions a torch program into segments that run on the device or in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from spirloom.errors import NodesUnsupported, SpirloomError
from spirloom.interval import Interval, of_type
from spirloom.ir import Array, Graph
from spirloom.ops import OpLibrary
from spirloom.partition import Costs, Network, Node, Plan, Report, Segment, Side, partition, report
from spirloom.partition.network import Access, pattern_groups
from spirloom.passes import OPTIMIZATIONS, optimize
from spirloom.torch.build import symbols_of
from spirloom.torch.fx_program import Traced
from spirloom.torch.importer import import_program
from spirloom.torch.options import Options
from spirloom.torch.program import Argument, Call, Given, Input, Kind, Plain, Program, Ref, names_of
from spirloom.torch.support_survey import Survey, nbytes_of, reads_of, survey


def described(
    program: Program,
    found: Survey,
    sizes: Mapping[str, int],
    groups: tuple[tuple[int, ...], ...] = (),
    refused: Mapping[int, str] | None = None,
) -> Network:
    """The network of a program; `refused` has further calls that stay, and why."""
    reasons = [(refused or {}).get(i, reason) for i, reason in enumerate(found.reasons)]
    inputs = [given.name for given in program.inputs if _is_open(given, program, found)]
    nodes = tuple(_node(call, i, reasons[i], found) for i, call in enumerate(program.calls))
    values = {*inputs, *(name for node in nodes for name in node.writes)}
    sizes_of = {name: nbytes_of(program.metas.get(name), sizes) for name in values}
    outputs = [name for name in outputs_of(program, found) if name in values]
    return Network(nodes, tuple(inputs), tuple(dict.fromkeys(outputs)), sizes_of, groups)


def outputs_of(program: Program, found: Survey) -> list[str]:
    """The names of the outputs that are tensors, or numbers that only a run tells."""
    items = [item for g in program.outputs for item in (g if isinstance(g, tuple) else (g,))]
    names = [item.name for item in items if isinstance(item, Ref)]
    return [name for name in names if not is_plain(found.known.get(name, found))]


def groups_of(
    program: Program, found: Survey, library: OpLibrary, skip: Collection[str] = ()
) -> tuple[tuple[int, ...], ...]:
    """Who makes a value that no optimised graph has, with those who read it: one pattern.

    This optimises the survey's graph, which is of no use after that.
    """
    stays = map(bool, found.reasons)
    pairs = zip(program.calls, stays, strict=True)
    calls = [Access(reads_of(call), names_of(call), stay) for call, stay in pairs]

    def optimize(graph: Graph) -> None:
        for name, rewrite in OPTIMIZATIONS.items():
            if name not in skip:
                rewrite(graph, library)

    return pattern_groups(calls, outputs_of(program, found), found.graph, found.tensors, optimize)


def is_inlined(call: Call, found: Survey) -> bool:
    """Whether it is known of what is not: the size of a tensor, zeros like it."""
    return is_known(call, found) and any(name not in found.known for name in reads_of(call))


def is_plain(value: object) -> bool:
    """Whether it is a number, or nothing."""
    return value is None or isinstance(value, bool | int | float)


def is_known(call: Call, found: Survey) -> bool:
    """Whether all that it gives is the same in every run."""
    return all(name in found.known for name in names_of(call))


def _is_open(given: Input, program: Program, found: Survey) -> bool:
    """Whether an input's value differs from run to run."""
    fixed = given.kind is Kind.WEIGHT and given.target not in program.mutated
    return not fixed and given.name not in found.known


def _node(call: Call, i: int, reason: str, found: Survey) -> Node:
    writes = tuple(names_of(call))
    known = not reason and is_known(call, found)
    reads = () if known and is_inlined(call, found) else tuple(dict.fromkeys(reads_of(call)))
    flops, nbytes = found.work[i]
    name = writes[0] if writes else call.target
    return Node(name, call.target, reads, writes, call.module, reason, flops, nbytes, known)


def device_graph(
    program: Program,
    found: Survey,
    segment: Segment,
    library: OpLibrary,
    options: Options,
    sizes: Mapping[str, int],
    sizes_vary: bool = False,
) -> Graph:
    """The optimised graph of a segment, `sizes_vary`: for `generalize`. Raises ImportFailure."""
    part = _part(program, found, segment)
    bounds = {name: _bounds(name, found, options) for name in segment.takes}
    chosen = Options(
        ranges={name: b for name, b in bounds.items() if b is not None},
        fp16=options.fp16,
        skip=options.skip,
        float64_as_float32=options.float64_as_float32,
        constants_limit=options.constants_limit,
    )
    graph = import_program(part, library, chosen, sizes)
    optimize(graph, library, fp16=options.fp16, skip=options.skip, sizes_vary=sizes_vary)
    return graph


def _bounds(name: str, found: Survey, options: Options) -> Interval | None:
    """What the survey relied on, if that is more than the type tells."""
    tensor, own = found.tensors.get(name), found.bounds.get(name)
    if name in options.ranges or tensor is None or own is None:
        return options.ranges.get(name)
    return None if of_type(tensor.dtype.numpy).within(own) else own


def _part(program: Program, found: Survey, segment: Segment) -> Program:
    """The program of a segment; what it reads of known values from outside are constants."""
    calls = [program.calls[i] for i in segment.nodes]
    calls = [_inlined(call, found) for call in calls if not is_inlined(call, found)]
    made = {name for call in calls for name in names_of(call)}
    read = dict.fromkeys(name for call in calls for name in reads_of(call))
    outputs = tuple(_literal(Ref(name), found) for name in segment.gives)
    read |= dict.fromkeys(given.name for given in outputs if isinstance(given, Ref))
    arrays = {name: found.known[name] for name in read
              if name not in made and isinstance(found.known.get(name), np.ndarray)}  # fmt: skip
    weights = {given.name: given for given in program.inputs if given.kind is Kind.WEIGHT}
    inputs = [Input(name, Kind.USER) for name in segment.takes]
    inputs += [weights[name] for name in read if name in weights and name not in segment.takes]
    inputs += [Input(name, Kind.WEIGHT, name) for name in arrays]
    return Program(
        where=program.where,
        inputs=tuple(inputs),
        outputs=outputs,
        calls=tuple(calls),
        metas=program.metas,
        symbols=program.symbols,
        weights=_Weights(program.weights, arrays),
        version=program.version,
    )


class _Weights(dict[str, Array]):
    """The program's, read when they are asked for, and others."""

    def __init__(self, weights: Mapping[str, Array], others: Mapping[str, Array]) -> None:
        super().__init__(others)
        self._weights = weights

    def __missing__(self, name: str) -> Array:
        return self._weights[name]


def _inlined(call: Call, found: Survey) -> Call:
    arguments = tuple(Argument(a.name, _literal(a.value, found), a.keyword) for a in call.arguments)
    return Call(call.target, arguments, call.results, call.module, call.trace)


def _literal(given: Given, found: Survey) -> Given:
    if isinstance(given, tuple):
        return tuple(_plain(item, found) for item in given)
    return _plain(given, found)


def _plain(given: Plain, found: Survey) -> Plain:
    """A number in place of the name of a known one."""
    if isinstance(given, Ref):
        value = found.known.get(given.name, given)
        if isinstance(value, bool | int | float):
            return value
    return given


def host_module(traced: Traced, found: Survey, segment: Segment) -> tuple[Any, tuple[str, ...]]:
    """A module of the nodes of a segment, and the names of the values that it takes, in order."""
    import torch

    graph = torch.fx.Graph()
    values: dict[Any, Any] = {}
    taken: list[str] = []

    def value_of(node: Any) -> Any:
        if node not in values:
            known = found.known.get(node.name, None)
            if isinstance(known, bool | int | float):
                values[node] = known
            elif node.op == "get_attr":
                values[node] = graph.get_attr(node.target)
            else:
                taken.append(node.name)
                values[node] = graph.placeholder(node.name)
        return values[node]

    chosen = _host_nodes(traced, found, segment)
    names = {node.name: node for node in traced.module.graph.nodes}
    given = [names[name] for name in segment.gives]
    inside = set(chosen)
    for source in (*(s for node in chosen for s in node.all_input_nodes), *given):
        if source not in inside:
            value_of(source)  # placeholders stand before all else
    for node in chosen:
        values[node] = graph.node_copy(node, value_of)
    graph.output(tuple(map(value_of, given)))
    return torch.fx.GraphModule(traced.module, graph), tuple(taken)


def _host_nodes(traced: Traced, found: Survey, segment: Segment) -> Sequence[Any]:
    """In the order of the graph, with those that name the parts of a result."""
    import operator

    chosen = {
        traced.nodes[i] for i in segment.nodes if not is_inlined(traced.program.calls[i], found)
    }
    parts = {
        user
        for node in chosen
        for user in node.users
        if user.target is operator.getitem and isinstance(node.meta.get("val"), list | tuple)
    }
    return [n for n in traced.module.graph.nodes if n in chosen or n in parts]


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
