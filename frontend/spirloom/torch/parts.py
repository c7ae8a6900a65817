"""Segments of a plan as what runs: graphs of the device, and graphs of torch.fx."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spirloom.interval import Interval, of_type
from spirloom.ir import Array, Graph
from spirloom.ops import OpLibrary
from spirloom.partition import Segment
from spirloom.passes import optimize
from spirloom.torch.call_names import names_of
from spirloom.torch.described import is_inlined
from spirloom.torch.importer import import_program
from spirloom.torch.options import Options
from spirloom.torch.program import Argument, Call, Given, Input, Kind, Plain, Program, Ref
from spirloom.torch.survey import Survey, reads_of
from spirloom.torch.traced import Traced


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
