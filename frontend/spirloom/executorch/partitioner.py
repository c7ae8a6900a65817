"""SpirloomPartitioner: selects the nodes that run on the device (to_edge_transform_and_lower)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram

from spirloom.executorch.backend import SpirloomBackend, graph_of, tag_states
from spirloom.executorch.borders import Borders
from spirloom.executorch.edge import edge_operator_name, part_of, read_edge
from spirloom.executorch.options import CompileOptions
from spirloom.op_library import OpLibrary
from spirloom.partition import Network, Placement, Plan, Segment
from spirloom.torch.build import symbols_of
from spirloom.torch.exported_program import calls_in, is_part, is_sym_int, size_of
from spirloom.torch.options import Options, check_names
from spirloom.torch.partition import network_of, plan_segments
from spirloom.torch.program import Program, Ref, output_names
from spirloom.torch.rules import handles
from spirloom.torch.source_location import module_path
from spirloom.torch.support_survey import Limits, Survey, input_names, survey


class NodeFilter:
    """The allow lists and block lists of an export."""

    def __init__(self, options: CompileOptions, library: OpLibrary) -> None:
        self._library = library
        allowed = options.operator_allowlist
        self._operators = None if allowed is None else self._names(allowed)
        self._no_operators = self._names(options.operator_blocklist)
        self._modules = options.nn_module_allowlist
        self._no_modules = options.nn_module_blocklist

    def reason(self, node: Any) -> str:
        """The list that keeps a node on the host; "" if none does."""
        name = edge_operator_name(node.target, self._library)
        if name in self._no_operators:
            return "operator_blocklist contains its operator"
        if self._operators is not None and name not in self._operators:
            return "operator_allowlist does not contain its operator"
        blocked = _first_match(self._no_modules, node)
        if blocked is not None:
            return f"nn_module_blocklist contains '{blocked}'"
        if self._modules is not None and _first_match(self._modules, node) is None:
            return "nn_module_allowlist contains none of its modules"
        return ""

    def _names(self, entries: Iterable[Any]) -> frozenset[str]:
        return frozenset(
            edge_operator_name(entry.removesuffix(".default") if isinstance(entry, str) else entry,
                          self._library)
            for entry in entries
        )  # fmt: skip


def _first_match(entries: Collection[str], node: Any) -> str | None:
    """The first entry that matches a module of the node's module stack."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    for entry in entries:
        if any(_names(entry, path, kind) for path, kind in stack):
            return entry
    return None


def _names(entry: str, path: str, kind: Any) -> bool:
    text = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    return path == entry or path.startswith(f"{entry}.") or entry in text


_SIZE = "a symbolic int, which ExecuTorch's runtime computes"


@dataclass(frozen=True, slots=True)
class Delegation:
    """The nodes on the device with their segments, and the nodes on the host with the reasons."""

    segments: dict[Any, int]
    on_host: dict[Any, str]


def plan_placement(
    exported: Any, library: OpLibrary, options: CompileOptions, build: bool
) -> Delegation:
    """Assigns the nodes of an exported program to device and host.

    With `build`, each device segment is compiled; segments that fail run on the host. Raises
    ImportFailure for dynamic sizes without a maximum.
    """
    nodes = tuple(calls_in(exported.graph.nodes))
    program = read_edge(exported, library)
    sym_ints = {n.name: size_of(n.meta["val"]) for n in exported.graph.nodes if is_sym_int(n)}
    fixed, symbols = symbols_of(program, Options())
    sizes = fixed | {symbol.name: symbol.max for symbol in symbols}
    names = [item.name for item in program.inputs if item.name in program.metas]
    check_names("range", options.ranges, set(names))
    chosen = options.of_inputs(names)
    limits = Limits(options.buffer_limit, "the device")
    found = survey(program, library, chosen, sizes, limits)
    lists = NodeFilter(options, library)
    borders = Borders(program, sym_ints)
    blocked = {i: reason for i, node in enumerate(nodes) if (reason := lists.reason(node))}

    def make(segment: Segment) -> None:
        borders.check(segment.inputs, segment.outputs)
        if build:
            part = part_of(program, segment.nodes, segment.inputs, segment.outputs, sym_ints)
            graph_of(part, library, options)

    _, plan, _ = plan_segments(
        program,
        found,
        library,
        chosen,
        sizes,
        make,
        blocked,
        options.costs,
        partial(_network_of, borders),
    )
    return _delegation_of(nodes, plan)


def _network_of(
    borders: Borders,
    program: Program,
    found: Survey,
    sizes: Mapping[str, int],
    groups: tuple[tuple[int, ...], ...],
    unsupported: Mapping[int, str],
) -> Network:
    """The network under ExecuTorch's execution model: reading a constant value is a dependency, and
    a view is a copy, which belongs to the segment of its neighbors."""
    network = network_of(program, found, sizes, groups, unsupported)
    weights = {item.name for item in program.inputs} - set(network.inputs)
    nodes = []
    for node, call in zip(network.nodes, program.calls, strict=True):
        reads = tuple(name for name in dict.fromkeys(input_names(call)) if name not in weights)
        is_size = not any(name in program.metas for name in output_names(call))
        reason = _SIZE if is_size else node.reason
        nbytes = max(node.nbytes, 1.0)
        nodes.append(replace(node, reads=reads, known=False, reason=reason, nbytes=nbytes))
    on_host = borders.on_host({i: node.reason for i, node in enumerate(nodes) if node.reason})
    nodes = [replace(node, reason=on_host.get(i, "")) for i, node in enumerate(nodes)]
    written = {name for node in nodes for name in node.writes}
    outputs = [output.name for output in program.outputs if isinstance(output, Ref)]
    return replace(
        network,
        nodes=tuple(nodes),
        groups=(*network.groups, *borders.groups(on_host)),
        outputs=tuple(dict.fromkeys(name for name in outputs if name in written)),
    )


def _delegation_of(nodes: tuple[Any, ...], plan: Plan) -> Delegation:
    """Adds symbolic ints that are read by one segment and computed from its inputs to it."""
    device = [
        (index, s) for index, s in enumerate(plan.segments) if s.placement is Placement.DEVICE
    ]
    found = {nodes[i]: index for index, segment in device for i in segment.nodes}
    takes = {index: set(segment.inputs) for index, segment in device}
    for node in reversed(nodes):
        readers = {found.get(user) for user in node.users}
        index = next(iter(readers), None)
        if not is_sym_int(node) or len(readers) != 1 or index is None:
            continue
        if all(is_sym_int(source) or source.name in takes[index] or found.get(source) == index
               for source in node.all_input_nodes):  # fmt: skip
            found[node] = index
    pairs = zip(nodes, plan.reasons, strict=True)
    return Delegation(found, {node: reason for node, reason in pairs if node not in found})


log = logging.getLogger("spirloom.executorch")


class SpirloomPartitioner(Partitioner):  # type: ignore[misc]
    """Delegates the nodes that the device supports, in as few delegates as possible.

        edge = to_edge_transform_and_lower(
            exported, partitioner=[SpirloomPartitioner({"force_fp16": True})]
        )

    The options are those of `CompileOptions`. The logger "spirloom.executorch" reports each node
    that runs on the host, with the reason, at level INFO. Raises ValueError for an invalid option.
    """

    def __init__(self, compile_options: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__()
        self.options = CompileOptions.of({**(compile_options or {}), **options})
        specs = [CompileSpec(name, value) for name, value in self.options.specs().items()]
        self.delegation_spec = DelegationSpec(SpirloomBackend.__name__, specs)
        self._library = self.options.library()
        self._preserved: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[Any], Callable[[Any], bool] | None]:
        """The operators that ExecuTorch would decompose, all of whose calls run on the device."""
        if ep not in self._preserved:
            self._preserved[ep] = self._preserved_operators(ep)
        return self._preserved[ep], None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tags the nodes that run on the device with their delegates."""
        placement = plan_placement(exported_program, self._library, self.options, build=True)
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

    def _report(self, placement: Delegation) -> None:
        for node, reason in placement.on_host.items():
            operator = edge_operator_name(node.target, self._library)
            log.info("%s (%s)%s runs on the host: %s", node.name, operator, _location(node), reason)
        count = len(set(placement.segments.values()))
        log.info("%d nodes run on the device in %d delegates", len(placement.segments), count)

    def _preserved_operators(self, ep: ExportedProgram) -> list[Any]:
        """The operators to preserve; none for the edge dialect, which is decomposed already."""
        import torch

        table = torch.export.default_decompositions()
        candidates = {
            node.target
            for node in ep.graph.nodes
            if isinstance(node.target, torch._ops.OpOverload) and node.target in table
        }
        candidates = {op for op in candidates if self._may_be_preserved(op)}
        if not candidates:
            return []
        placement = plan_placement(ep, self._library, self.options, build=False)
        candidates -= {node.target for node in placement.on_host}
        return sorted(candidates, key=str)

    def _may_be_preserved(self, op: Any) -> bool:
        """Excludes operators that mutate or alias arguments: the edge dialect forbids them."""
        schema = op._schema
        aliases = any(value.alias_info is not None
                      for value in (*schema.returns, *schema.arguments))  # fmt: skip
        return not aliases and handles(edge_operator_name(op, self._library), self._library)


def _location(node: Any) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    path = module_path([path for path, _ in stack.values()])
    return f" in {path}" if path else ""
