"""A program as the partitioner sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.partition import Network, Node
from spirloom.partition.groups import Access, pattern_groups
from spirloom.passes import OPTIMIZATIONS
from spirloom.torch.call_names import names_of
from spirloom.torch.program import Call, Input, Kind, Program, Ref
from spirloom.torch.survey import Survey, nbytes_of, reads_of


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
