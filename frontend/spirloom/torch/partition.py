"""Partitions a torch program into segments for the device and for PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from spec_model.interval import Interval, of_type
from spirloom.errors import NodesUnsupported, SpirloomError
from spirloom.ir import Array, Graph
from spirloom.op_library import OpLibrary
from spirloom.partition import (
    Costs,
    Network,
    Node,
    Placement,
    Plan,
    Report,
    Segment,
    partition,
    report,
)
from spirloom.partition.network import Access, pattern_groups
from spirloom.passes import OPTIMIZATIONS, optimize
from spirloom.torch.build import symbols_of
from spirloom.torch.fx_program import TracedGraph
from spirloom.torch.importer import import_program
from spirloom.torch.options import Options
from spirloom.torch.program import (
    Argument,
    ArgValue,
    Call,
    Input,
    Kind,
    PlainValue,
    Program,
    Ref,
    output_names,
)
from spirloom.torch.support_survey import Survey, input_names, nbytes_of, survey


def network_of(
    program: Program,
    found: Survey,
    sizes: Mapping[str, int],
    groups: tuple[tuple[int, ...], ...] = (),
    refused: Mapping[int, str] | None = None,
) -> Network:
    """The network of a program. `refused`: further calls for the host, with reasons."""
    reasons = [(refused or {}).get(i, reason) for i, reason in enumerate(found.reasons)]
    inputs = [given.name for given in program.inputs if _is_open(given, program, found)]
    nodes = tuple(_node(call, i, reasons[i], found) for i, call in enumerate(program.calls))
    values = {*inputs, *(name for node in nodes for name in node.writes)}
    sizes_of = {name: nbytes_of(program.metas.get(name), sizes) for name in values}
    outputs = [name for name in outputs_of(program, found) if name in values]
    return Network(nodes, tuple(inputs), tuple(dict.fromkeys(outputs)), sizes_of, groups)


def outputs_of(program: Program, found: Survey) -> list[str]:
    """The names of the outputs that are not constant numbers."""
    items = [item for g in program.outputs for item in (g if isinstance(g, tuple) else (g,))]
    names = [item.name for item in items if isinstance(item, Ref)]
    return [name for name in names if not is_number(found.known.get(name, found))]


def pattern_groups_of(
    program: Program, found: Survey, library: OpLibrary, skip: Collection[str] = ()
) -> tuple[tuple[int, ...], ...]:
    """Groups calls whose intermediate values the passes fuse away; a group is not split.

    Optimizes the survey's graph in place, which must not be used afterwards.
    """
    stays = map(bool, found.reasons)
    pairs = zip(program.calls, stays, strict=True)
    calls = [Access(input_names(call), output_names(call), stay) for call, stay in pairs]

    def optimize(graph: Graph) -> None:
        for name, rewrite in OPTIMIZATIONS.items():
            if name not in skip:
                rewrite(graph, library)

    return pattern_groups(calls, outputs_of(program, found), found.graph, found.tensors, optimize)


def is_inlinable(call: Call, found: Survey) -> bool:
    """Whether a call with dynamic arguments has a constant result: a size, zeros_like."""
    return is_constant(call, found) and any(name not in found.known for name in input_names(call))


def is_number(value: object) -> bool:
    """Whether a value is a number or None."""
    return value is None or isinstance(value, bool | int | float)


def is_constant(call: Call, found: Survey) -> bool:
    """Whether all results of a call are constant."""
    return all(name in found.known for name in output_names(call))


def _is_open(given: Input, program: Program, found: Survey) -> bool:
    """Whether an input is neither a weight nor constant."""
    fixed = given.kind is Kind.WEIGHT and given.target not in program.mutated
    return not fixed and given.name not in found.known


def _node(call: Call, i: int, reason: str, found: Survey) -> Node:
    writes = tuple(output_names(call))
    known = not reason and is_constant(call, found)
    reads = () if known and is_inlinable(call, found) else tuple(dict.fromkeys(input_names(call)))
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
) -> Graph:
    """The optimized graph of a segment. Raises ImportFailure."""
    graph = plain_graph(program, found, segment, library, options, sizes)
    optimize_segment(graph, library, options)
    return graph


def plain_graph(
    program: Program,
    found: Survey,
    segment: Segment,
    library: OpLibrary,
    options: Options,
    sizes: Mapping[str, int],
) -> Graph:
    """The graph of a segment before any pass, at sizes that may be symbolic. Raises
    ImportFailure."""
    part = _segment_program(program, found, segment)
    bounds = {name: _bounds(name, found, options) for name in segment.inputs}
    chosen = Options(
        ranges={name: b for name, b in bounds.items() if b is not None},
        fp16=options.fp16,
        keep_float32=options.keep_float32,
        skip=options.skip,
        float64_as_float32=options.float64_as_float32,
        assume_int32=options.assume_int32,
        constants_limit=options.constants_limit,
    )
    return import_program(part, library, chosen, sizes)


def optimize_segment(
    graph: Graph, library: OpLibrary, options: Options, sizes_vary: bool = False
) -> None:
    """Applies the passes to the graph of a segment, in place."""
    optimize(
        graph,
        library,
        fp16=options.fp16,
        skip=options.skip,
        sizes_vary=sizes_vary,
        keep_float32=options.keep_float32,
    )


def _bounds(name: str, found: Survey, options: Options) -> Interval | None:
    """The value bounds of an input that the survey assumed, if narrower than its type."""
    tensor, own = found.tensors.get(name), found.bounds.get(name)
    if name in options.ranges or tensor is None or own is None:
        return options.ranges.get(name)
    return None if of_type(tensor.dtype.numpy).within(own) else own


def _segment_program(program: Program, found: Survey, segment: Segment) -> Program:
    """The program of a segment. Constant values from outside become weights."""
    calls = [program.calls[i] for i in segment.nodes]
    calls = [_inlined(call, found) for call in calls if not is_inlinable(call, found)]
    made = {name for call in calls for name in output_names(call)}
    read = dict.fromkeys(name for call in calls for name in input_names(call))
    outputs = tuple(_literal(Ref(name), found) for name in segment.outputs)
    read |= dict.fromkeys(given.name for given in outputs if isinstance(given, Ref))
    arrays = {name: found.known[name] for name in read
              if name not in made and isinstance(found.known.get(name), np.ndarray)}  # fmt: skip
    weights = {given.name: given for given in program.inputs if given.kind is Kind.WEIGHT}
    inputs = [Input(name, Kind.USER) for name in segment.inputs]
    inputs += [weights[name] for name in read if name in weights and name not in segment.inputs]
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
    """The program's weights, read on first use, and further arrays."""

    def __init__(self, weights: Mapping[str, Array], others: Mapping[str, Array]) -> None:
        super().__init__(others)
        self._weights = weights

    def __missing__(self, name: str) -> Array:
        return self._weights[name]


def _inlined(call: Call, found: Survey) -> Call:
    arguments = tuple(Argument(a.name, _literal(a.value, found), a.keyword) for a in call.arguments)
    return Call(call.target, arguments, call.results, call.module, call.trace)


def _literal(given: ArgValue, found: Survey) -> ArgValue:
    if isinstance(given, tuple):
        return tuple(_plain(item, found) for item in given)
    return _plain(given, found)


def _plain(given: PlainValue, found: Survey) -> PlainValue:
    """Replaces a reference to a constant number by the number."""
    if isinstance(given, Ref):
        value = found.known.get(given.name, given)
        if isinstance(value, bool | int | float):
            return value
    return given


def host_module(
    traced: TracedGraph, found: Survey, segment: Segment
) -> tuple[Any, tuple[str, ...]]:
    """A module with the nodes of a segment, and the names of its inputs in order."""
    import torch

    graph = torch.fx.Graph()
    values: dict[Any, Any] = {}
    inputs: list[str] = []

    def value_of(node: Any) -> Any:
        if node not in values:
            known = found.known.get(node.name, None)
            if isinstance(known, bool | int | float):
                values[node] = known
            elif node.op == "get_attr":
                values[node] = graph.get_attr(node.target)
            else:
                inputs.append(node.name)
                values[node] = graph.placeholder(node.name)
        return values[node]

    chosen = _host_nodes(traced, found, segment)
    names = {node.name: node for node in traced.module.graph.nodes}
    given = [names[name] for name in segment.outputs]
    inside = set(chosen)
    for source in (*(s for node in chosen for s in node.all_input_nodes), *given):
        if source not in inside:
            value_of(source)  # placeholders precede all other nodes
    for node in chosen:
        values[node] = graph.node_copy(node, value_of)
    graph.output(tuple(map(value_of, given)))
    return torch.fx.GraphModule(traced.module, graph), tuple(inputs)


def _host_nodes(traced: TracedGraph, found: Survey, segment: Segment) -> Sequence[Any]:
    """The nodes of a segment in graph order, including those that extract results."""
    import operator

    chosen = {
        traced.nodes[i] for i in segment.nodes if not is_inlinable(traced.program.calls[i], found)
    }
    parts = {
        user
        for node in chosen
        for user in node.users
        if user.target is operator.getitem and isinstance(node.meta.get("val"), list | tuple)
    }
    return [n for n in traced.module.graph.nodes if n in chosen or n in parts]


Compiled = TypeVar("Compiled")
Describe = Callable[
    [Program, Survey, Mapping[str, int], tuple[tuple[int, ...], ...], Mapping[int, str]], Network
]


class _Refused(Exception):
    """A segment cannot be built; `reasons` are those of its calls, by index."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__()
        self.reasons = reasons


def plan_segments(
    program: Program,
    found: Survey,
    library: OpLibrary,
    options: Options,
    sizes: Mapping[str, int],
    make: Callable[[Segment], Compiled],
    refused: Mapping[int, str] | None = None,
    costs: Costs | None = None,
    describe: Describe = network_of,
) -> tuple[Network, Plan, tuple[Compiled | None, ...]]:
    """A plan whose segments can be built, with the result of `make` for each; None on the host.

    `make` may raise SpirloomError: the segment's calls are then moved to the host, and the plan is
    computed again. `refused`: calls that must run on the host, with reasons. `describe` returns the
    network. The survey's graph must not be used afterwards.
    """
    host_calls = dict(refused or {})
    has_host_calls = bool(host_calls) or any(found.reasons)
    groups = pattern_groups_of(program, found, library, options.skip) if has_host_calls else ()
    while True:
        network = describe(program, found, sizes, groups, host_calls)
        plan = partition(network, costs)
        try:
            compiled = tuple(
                None if segment.placement is Placement.HOST else _built(program, segment, make)
                for segment in plan.segments
            )
            return network, plan, compiled
        except _Refused as error:
            host_calls |= error.reasons


def report_of(program: Program, library: OpLibrary, options: Options) -> Report:
    """The partition of a program at the maximum of its sizes. Raises ImportFailure."""
    fixed, symbols = symbols_of(program, options)
    sizes = fixed | {symbol.name: symbol.max for symbol in symbols}
    found = survey(program, library, options, sizes)

    def make(segment: Segment) -> None:
        device_graph(program, found, segment, library, options, sizes)

    network, plan, _ = plan_segments(program, found, library, options, sizes, make)
    return report(network, plan)


def _built(program: Program, segment: Segment, make: Callable[[Segment], Compiled]) -> Compiled:
    """Builds a device segment. Raises _Refused."""
    try:
        return make(segment)
    except NodesUnsupported as error:
        reasons = dict(_problem_calls(error, program, segment))
        raise _Refused(reasons or dict.fromkeys(segment.nodes, str(error))) from error
    except SpirloomError as error:
        raise _Refused(dict.fromkeys(segment.nodes, str(error).splitlines()[0])) from error


def _problem_calls(
    error: NodesUnsupported, program: Program, segment: Segment
) -> Iterator[tuple[int, str]]:
    for i in segment.nodes:
        call = program.calls[i]
        names = output_names(call)
        for problem in error.problems:
            own = problem.name.rpartition("/")[2]
            if problem.op == call.target and (own in names or problem.name == call.module):
                yield i, problem.reason
