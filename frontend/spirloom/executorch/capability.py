"""What of a program goes to the device: the partitioner of torch.compile, on ExecuTorch's terms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spirloom.executorch.build import graph_of
from spirloom.executorch.edge import calls_of, is_number, part_of, read_edge
from spirloom.executorch.lists import Lists
from spirloom.executorch.options import CompileOptions
from spirloom.ops import OpLibrary
from spirloom.partition import Network, Plan, Segment, Side
from spirloom.torch.build import symbols_of
from spirloom.torch.call_names import names_of
from spirloom.torch.constant_inputs import check_names
from spirloom.torch.described import described
from spirloom.torch.exported import size_of
from spirloom.torch.options import Options
from spirloom.torch.planned import planned
from spirloom.torch.program import Call, Program, Ref
from spirloom.torch.survey import Limits, Survey, reads_of, survey

_SIZE = "a size, which ExecuTorch's runtime computes"
# What ExecuTorch's tensors may hold at a delegate's border.
_CROSSING = frozenset({"bool", "uint8", "int8", "int32", "int64", "float16", "float32"})


@dataclass(frozen=True, slots=True)
class Placement:
    """The nodes that go to the device, each with its segment, and those that stay, and why."""

    segments: dict[Any, int]
    staying: dict[Any, str]


def place(exported: Any, library: OpLibrary, options: CompileOptions, build: bool) -> Placement:
    """Plans an exported program; `build`: a segment of the device that cannot be built stays.

    Raises ImportFailure for sizes that have no greatest one.
    """
    nodes = tuple(calls_of(exported))
    program = read_edge(exported, library)
    numbers = {n.name: size_of(n.meta["val"]) for n in exported.graph.nodes if is_number(n)}
    fixed, symbols = symbols_of(program, Options())
    sizes = fixed | {symbol.name: symbol.greatest for symbol in symbols}
    names = [given.name for given in program.inputs if given.name in program.metas]
    check_names("range", options.ranges, set(names))
    chosen = Options(ranges=options.intervals(names), fp16=options.force_fp16)
    limits = Limits(options.buffer_limit, "the device")
    found = survey(program, library, chosen, sizes, limits)
    lists = Lists(options, library)
    known = {*program.metas, *numbers, *(given.name for given in program.inputs)}
    reasons = [
        _crossing(program, call, known) or lists.reason(node)
        for node, call in zip(nodes, program.calls, strict=True)
    ]
    refused = {i: reason for i, reason in enumerate(reasons) if reason}

    def make(segment: Segment) -> None:
        if build:
            part = part_of(program, segment.nodes, segment.takes, segment.gives, numbers)
            graph_of(part, library, options)

    _, plan, _ = planned(
        program, found, library, chosen, sizes, make, refused, options.costs, _network
    )
    return _placed(nodes, plan)


def _network(
    program: Program,
    found: Survey,
    sizes: Mapping[str, int],
    groups: tuple[tuple[int, ...], ...],
    refused: Mapping[int, str],
) -> Network:
    """As ExecuTorch runs it: who reads a value that is known all the same waits for it, and what
    only looks at memory in another way copies it: that goes where its neighbours are."""
    network = described(program, found, sizes, groups, refused)
    weights = {given.name for given in program.inputs} - set(network.inputs)
    nodes = []
    for node, call in zip(network.nodes, program.calls, strict=True):
        reads = tuple(name for name in dict.fromkeys(reads_of(call)) if name not in weights)
        is_size = not any(name in program.metas for name in names_of(call))
        reason = _SIZE if is_size else node.reason
        nbytes = max(node.nbytes, 1.0)
        nodes.append(replace(node, reads=reads, known=False, reason=reason, nbytes=nbytes))
    written = {name for node in nodes for name in node.writes}
    outputs = [given.name for given in program.outputs if isinstance(given, Ref)]
    return replace(
        network,
        nodes=tuple(nodes),
        outputs=tuple(dict.fromkeys(name for name in outputs if name in written)),
    )


def _crossing(program: Program, call: Call, known: Collection[str]) -> str:
    """Why a call's values are none that a delegate takes or gives; it takes the known ones."""
    for name in reads_of(call):
        if name not in known:
            return f"'{name}' is a number that no delegate takes"
    for name in (*reads_of(call), *names_of(call)):
        meta = program.metas.get(name)
        if meta is not None and meta.dtype not in _CROSSING:
            return f"'{name}' is {meta.dtype}, which no delegate takes"
    return ""


def _placed(nodes: tuple[Any, ...], plan: Plan) -> Placement:
    """Sizes that one segment alone reads, of what it takes, are computed in it."""
    device = [(at, s) for at, s in enumerate(plan.segments) if s.side is Side.DEVICE]
    found = {nodes[i]: at for at, segment in device for i in segment.nodes}
    takes = {at: set(segment.takes) for at, segment in device}
    for node in reversed(nodes):
        places = {found.get(user) for user in node.users}
        place = next(iter(places), None)
        if not is_number(node) or len(places) != 1 or place is None:
            continue
        if all(is_number(source) or source.name in takes[place] or found.get(source) == place
               for source in node.all_input_nodes):  # fmt: skip
            found[node] = place
    pairs = zip(nodes, plan.reasons, strict=True)
    return Placement(found, {node: reason for node, reason in pairs if node not in found})
