"""SpirloomPartitioner: selects the nodes that run on the device (to_edge_transform_and_lower)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram

from spirloom.executorch.backend import SpirloomBackend, graph_of, tag_states
from spirloom.executorch.edge import calls_of, is_number, operator_name, part_of, read_edge
from spirloom.executorch.options import CompileOptions
from spirloom.ops import OpLibrary
from spirloom.partition import Network, Plan, Segment, Side
from spirloom.torch.build import symbols_of
from spirloom.torch.exported_program import is_part, size_of
from spirloom.torch.options import Options, check_names
from spirloom.torch.partition import described, planned
from spirloom.torch.program import Call, Program, Ref, names_of
from spirloom.torch.rules import handles
from spirloom.torch.source_location import module_path
from spirloom.torch.support_survey import Limits, Survey, reads_of, survey


class Lists:
    """The allow and block lists of an export."""

    def __init__(self, options: CompileOptions, library: OpLibrary) -> None:
        self._library = library
        allowed = options.operator_allowlist
        self._operators = None if allowed is None else self._names(allowed)
        self._no_operators = self._names(options.operator_blocklist)
        self._modules = options.nn_module_allowlist
        self._no_modules = options.nn_module_blocklist

    def reason(self, node: Any) -> str:
        """Why a node stays; "" if the lists let it go."""
        name = operator_name(node.target, self._library)
        if name in self._no_operators:
            return "operator_blocklist has its operator"
        if self._operators is not None and name not in self._operators:
            return "operator_allowlist has not its operator"
        blocked = _first(self._no_modules, node)
        if blocked is not None:
            return f"nn_module_blocklist has '{blocked}'"
        if self._modules is not None and _first(self._modules, node) is None:
            return "nn_module_allowlist has none of its modules"
        return ""

    def _names(self, entries: Iterable[Any]) -> frozenset[str]:
        return frozenset(
            operator_name(entry.removesuffix(".default") if isinstance(entry, str) else entry,
                          self._library)
            for entry in entries
        )  # fmt: skip


def _first(entries: Collection[str], node: Any) -> str | None:
    """The first entry that names one of the modules that a node is in."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    for entry in entries:
        if any(_names(entry, path, kind) for path, kind in stack):
            return entry
    return None


def _names(entry: str, path: str, kind: Any) -> bool:
    text = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    return path == entry or path.startswith(f"{entry}.") or entry in text


_SIZE = "a size, which ExecuTorch's runtime computes"
# What ExecuTorch's tensors may hold at a delegate's border.
_CROSSING = frozenset({"bool", "uint8", "int8", "int32", "int64", "float16", "float32"})


@dataclass(frozen=True, slots=True)
class Placement:
    """The nodes that go to the device, each with its segment, and those that stay, and why."""

    segments: dict[Any, int]
    on_host: dict[Any, str]


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


log = logging.getLogger("spirloom.executorch")


class SpirloomPartitioner(Partitioner):  # type: ignore[misc]
    """Takes what the specs say that the device can compute, in as few delegates as can be.

        edge = to_edge_transform_and_lower(
            exported, partitioner=[SpirloomPartitioner({"force_fp16": True})]
        )

    The options are those of `CompileOptions`. Each node that stays is a line of the logger
    "spirloom.executorch", at level INFO, with the reason. Raises ValueError for a wrong option.
    """

    def __init__(self, compile_options: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__()
        self.options = CompileOptions.of({**(compile_options or {}), **options})
        specs = [CompileSpec(name, value) for name, value in self.options.specs().items()]
        self.delegation_spec = DelegationSpec(SpirloomBackend.__name__, specs)
        self._library = OpLibrary()
        self._kept: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """The operators that ExecuTorch would take apart and that all go to the device whole."""
        if ep not in self._kept:
            self._kept[ep] = self._whole(ep)
        return self._kept[ep], None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that go, each with the delegate that it is of."""
        placement = place(exported_program, self._library, self.options, build=True)
        tags = {}
        for node, segment in placement.segments.items():
            tag = f"spirloom_{segment}"
            tags[tag] = self.delegation_spec
            for tagged in (node, *(user for user in node.users if is_part(user))):
                tagged.meta["delegation_tag"] = tag
        self._report(placement)
        tag_constant_data(exported_program)
        if self.options.states:
            tag_states(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def _report(self, placement: Placement) -> None:
        for node, reason in placement.on_host.items():
            operator = operator_name(node.target, self._library)
            log.info("%s (%s)%s stays: %s", node.name, operator, _place(node), reason)
        count = len(set(placement.segments.values()))
        log.info("%d nodes go to the device in %d delegates", len(placement.segments), count)

    def _whole(self, ep: ExportedProgram) -> list[Any]:
        """Nothing of a program of the edge dialect, which has been taken apart before."""
        import torch

        table = torch.export.default_decompositions()
        asked = {
            node.target
            for node in ep.graph.nodes
            if isinstance(node.target, torch._ops.OpOverload) and node.target in table
        }
        asked = {op for op in asked if self._may_stay_whole(op)}
        if not asked:
            return []
        placement = place(ep, self._library, self.options, build=False)
        asked -= {node.target for node in placement.on_host}
        return sorted(asked, key=str)

    def _may_stay_whole(self, op: Any) -> bool:
        """Not what writes its arguments, or gives views of them: the edge dialect has none."""
        schema = op._schema
        aliases = any(value.alias_info is not None
                      for value in (*schema.returns, *schema.arguments))  # fmt: skip
        return not aliases and handles(operator_name(op, self._library), self._library)


def _place(node: Any) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    path = module_path([path for path, _ in stack.values()])
    return f" in {path}" if path else ""
