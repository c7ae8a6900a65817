"""Describes a graph, and a buffer plan of its intermediate tensors, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from spirloom.ir import Graph, IntInput, Tensor
from spirloom.kv_cache import kv_cache_of
from spirloom.op_library import OpLibrary
from spirloom.sizes import Varying
from spirloom.terminal import bytes_text, shown

ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class Block:
    """The memory of one tensor, in use from node `first` to node `last`."""

    tensor: Tensor
    size: int
    first: int
    last: int
    offset: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Sizes in bytes. `naive` is the total without sharing memory."""

    constants: int
    inputs_outputs: int
    naive: int
    peak: int
    views: int
    blocks: tuple[Block, ...]


def plan_memory(graph: Graph, library: OpLibrary) -> MemoryPlan:
    """Allocates every intermediate tensor. Views share the memory of their source."""
    roots = _roots(graph, library)
    computed = {t for node in graph.nodes for t in node.outputs}
    outside = set(graph.given()) | {roots.get(t, t) for t in graph.results()}
    lifetimes: dict[Tensor, tuple[int, int]] = {}
    for index, node in enumerate(graph.nodes):
        for tensor in (*node.inputs(), *node.outputs):
            root = roots.get(tensor, tensor)
            if root in computed and root not in outside:
                first, _ = lifetimes.get(root, (index, index))
                lifetimes[root] = (first, index)
    blocks = _allocate(lifetimes)
    constants = {id(t.values): t.size for t in graph.tensors() if t.is_constant}
    return MemoryPlan(
        constants=sum(constants.values()),
        inputs_outputs=sum(t.size for t in {*graph.inputs, *graph.outputs}),
        naive=sum(b.size for b in blocks),
        peak=max((b.offset + b.size for b in blocks), default=0),
        views=len(roots),
        blocks=tuple(blocks),
    )


def _roots(graph: Graph, library: OpLibrary) -> dict[Tensor, Tensor]:
    """For each view, the tensor whose memory it shares."""
    roots: dict[Tensor, Tensor] = {}
    for node in graph.nodes:
        source = library.view_source(node)
        if source is not None:
            roots[node.outputs[0]] = roots.get(source, source)
    return roots


def _allocate(lifetimes: dict[Tensor, tuple[int, int]]) -> list[Block]:
    """Allocates the largest tensor first, each in the smallest gap among tensors alive at the same
    time.
    """
    blocks: list[Block] = []
    for tensor, (first, last) in sorted(lifetimes.items(), key=lambda item: -item[0].size):
        size = -(-tensor.size // ALIGNMENT) * ALIGNMENT
        alive = [b for b in blocks if b.first <= last and first <= b.last]
        blocks.append(Block(tensor, size, first, last, _best_offset(alive, size)))
    return blocks


def _best_offset(alive: list[Block], size: int) -> int:
    best: tuple[int, int] | None = None
    end = 0
    for block in sorted(alive, key=lambda b: b.offset):
        gap = block.offset - end
        if gap >= size and (best is None or gap < best[0]):
            best = (gap, end)
        end = max(end, block.offset + block.size)
    return end if best is None else best[1]


def describe(graph: Graph, library: OpLibrary) -> dict[str, Any]:
    """The description as JSON values. Sizes are in bytes."""
    plan = plan_memory(graph, library)
    ops = Counter(node.op for node in graph.nodes)
    constants = {id(t.values): t for t in graph.tensors() if t.is_constant}
    parameters = sum(t.size // t.dtype.numpy.itemsize for t in constants.values())
    return {
        **({"method": graph.name} if graph.name else {}),
        "producer": graph.producer,
        "inputs": [_tensor(t) for t in graph.inputs],
        "int_inputs": [_int_input(each, graph) for each in graph.int_inputs],
        "outputs": [_tensor(t) for t in graph.outputs],
        "states": [_tensor(state.tensor) for state in graph.states],
        **_kv_cache(graph, library),
        "symbols": [{"name": s.name, "min": s.min, "max": s.max} for s in graph.symbols],
        "guards": list(graph.guards),
        "attachments": {name: len(data) for name, data in graph.attachments.items()},
        "nodes": len(graph.nodes),
        "ops": dict(sorted(ops.items(), key=lambda item: (-item[1], item[0]))),
        "missing_ops": sorted(op for op in ops if not library.has(op)),
        "parameters": {"tensors": len(constants), "elements": parameters, "bytes": plan.constants},
        "memory": {
            "inputs_outputs": plan.inputs_outputs,
            "intermediates_naive": plan.naive,
            "intermediates_planned": plan.peak,
            "intermediates": len(plan.blocks),
            "views": plan.views,
        },
    }


def _int_input(given: IntInput, graph: Graph) -> dict[str, Any]:
    symbol = next(symbol for symbol in graph.symbols if symbol.name == given.symbol)
    facts = {"name": given.name, "min": symbol.min, "max": symbol.max}
    return facts if given.name == given.symbol else {**facts, "size": given.symbol}


def _kv_cache(graph: Graph, library: OpLibrary) -> dict[str, Any]:
    cache = kv_cache_of(graph, library)
    return {} if cache is None else {"kv_cache": asdict(cache)}


def _tensor(tensor: Tensor) -> dict[str, Any]:
    facts = {"name": tensor.name, "dtype": tensor.dtype.long_name, "shape": list(tensor.shape)}
    if any(isinstance(size, Varying) for size in tensor.shape):
        facts["dims"] = [str(size) for size in tensor.shape]
    return facts if tensor.bounds is None else {**facts, "range": str(tensor.bounds)}


def to_text(graph: Graph, library: OpLibrary, nodes: bool = False) -> str:
    """The description as lines of text. With `nodes`, one line for each node too."""
    facts = describe(graph, library)
    lines = [f"method      {shown(graph.name)}"] if graph.name else []
    lines.append(f"producer    {shown(facts['producer'])}")
    for key in ("inputs", "outputs", "states"):
        for tensor in facts[key]:
            shape = shown("×".join(tensor.get("dims", map(str, tensor["shape"]))) or "scalar")
            name, dtype = shown(tensor["name"]), tensor["dtype"]
            between = f"  in {tensor['range']}" if "range" in tensor else ""
            lines.append(f"{key[:-1]:<11} {name}  {dtype}  {shape}{between}")
        for given in facts["int_inputs"] if key == "inputs" else ():
            same = f", size {shown(given['size'])}" if "size" in given else ""
            lines.append(
                f"input       {shown(given['name'])}  int  {given['min']}..{given['max']}{same}"
            )
    if "kv_cache" in facts:
        cache = facts["kv_cache"]
        lines.append(
            f"KV cache    {cache['name']}, {cache['bytes_per_token']:,} bytes per token in "
            f"{cache['layers']} layers"
        )
    lines += [f"size        {shown(str(symbol))}" for symbol in graph.symbols]
    lines += [f"guard       {shown(guard)}" for guard in graph.guards]
    parameters = facts["parameters"]
    lines.append(
        f"parameters  {parameters['elements']:,} in {parameters['tensors']} tensors, "
        f"{bytes_text(parameters['bytes'])}"
    )
    lines.append(f"memory      {_memory(facts['memory'])}")
    for name, size in facts["attachments"].items():
        lines.append(f"attachment  {shown(name)}, {bytes_text(size)}")
    lines.append(f"nodes       {facts['nodes']}")
    width = max((len(shown(op)) for op in facts["ops"]), default=0)
    for op, count in facts["ops"].items():
        note = "  (unknown operator)" if op in facts["missing_ops"] else ""
        lines.append(f"  {shown(op):<{width}}  {count:>4}{note}")
    if nodes:
        lines += _node_lines(graph, plan_memory(graph, library))
    return "\n".join(lines)


def _memory(memory: dict[str, Any]) -> str:
    naive, planned = memory["intermediates_naive"], memory["intermediates_planned"]
    text = f"{bytes_text(planned)} for {memory['intermediates']} intermediate tensors"
    if naive > planned:
        text += f" ({bytes_text(naive)} without sharing, {100 - 100 * planned / naive:.0f} % saved)"
    views = f", {memory['views']} view{'s' * (memory['views'] > 1)}" if memory["views"] else ""
    return f"{text}{views}, {bytes_text(memory['inputs_outputs'])} inputs and outputs"


def _node_lines(graph: Graph, plan: MemoryPlan) -> list[str]:
    offsets = {block.tensor: block.offset for block in plan.blocks}
    lines = ["", "  #  op  operands → result @ offset in the plan  (source node)"]
    for index, node in enumerate(graph.nodes):
        operands = ", ".join(str(t) for t in node.inputs())
        results = ", ".join(f"{t} @ {offsets[t]}" if t in offsets else str(t) for t in node.outputs)
        location = graph.source_of(node)
        name = f"{node.name} at {location}" if location else node.name
        line = f"{index:>3}  {node.op}  {operands} → {results}  ({name})"
        lines.append(shown(line))
    return lines


def summary(graph: Graph) -> str:
    """One line: the number of nodes, parameters and bytes."""
    constants = {id(t.values): t for t in graph.tensors() if t.is_constant}.values()
    elements = sum(t.size // t.dtype.numpy.itemsize for t in constants)
    size = bytes_text(sum(t.size for t in constants))
    sizes = "".join(f", {shown(str(symbol))}" for symbol in graph.symbols)
    return f"{len(graph.nodes)} nodes, {elements:,} parameters ({size}){sizes}"
