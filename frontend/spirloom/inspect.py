"""Describes a graph: as text for people, and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from spirloom.ir import Graph, Tensor
from spirloom.memory_plan import MemoryPlan, plan_memory
from spirloom.ops import OpLibrary
from spirloom.sizes import Varying
from spirloom.text import bytes_text, shown


def describe(graph: Graph, library: OpLibrary) -> dict[str, Any]:
    """The description as JSON values; sizes in bytes."""
    plan = plan_memory(graph, library)
    ops = Counter(node.op for node in graph.nodes)
    constants = {id(t.data): t for t in graph.tensors() if t.data is not None}
    parameters = sum(t.size // t.dtype.numpy.itemsize for t in constants.values())
    return {
        **({"method": graph.name} if graph.name else {}),
        "producer": graph.producer,
        "inputs": [_tensor(t) for t in graph.inputs],
        "outputs": [_tensor(t) for t in graph.outputs],
        "states": [_tensor(state.tensor) for state in graph.states],
        "symbols": [
            {"name": s.name, "least": s.least, "greatest": s.greatest} for s in graph.symbols
        ],
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


def _tensor(tensor: Tensor) -> dict[str, Any]:
    facts = {"name": tensor.name, "dtype": tensor.dtype.long_name, "shape": list(tensor.shape)}
    if any(isinstance(size, Varying) for size in tensor.shape):
        facts["dims"] = [str(size) for size in tensor.shape]
    return facts if tensor.bounds is None else {**facts, "range": str(tensor.bounds)}


def to_text(graph: Graph, library: OpLibrary, nodes: bool = False) -> str:
    """The description as lines of text; with `nodes`, one line for each node too."""
    facts = describe(graph, library)
    lines = [f"method      {shown(graph.name)}"] if graph.name else []
    lines.append(f"producer    {shown(facts['producer'])}")
    for key in ("inputs", "outputs", "states"):
        for tensor in facts[key]:
            shape = shown("×".join(tensor.get("dims", map(str, tensor["shape"]))) or "scalar")
            name, dtype = shown(tensor["name"]), tensor["dtype"]
            between = f"  in {tensor['range']}" if "range" in tensor else ""
            lines.append(f"{key[:-1]:<11} {name}  {dtype}  {shape}{between}")
    lines += [f"size        {shown(str(symbol))}" for symbol in graph.symbols]
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
        note = "  (no such operator in op_specs/)" if op in facts["missing_ops"] else ""
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
        place = graph.source_of(node)
        name = f"{node.name} at {place}" if place else node.name
        line = f"{index:>3}  {node.op}  {operands} → {results}  ({name})"
        lines.append(shown(line))
    return lines


def summary(graph: Graph) -> str:
    """One line: how many nodes, parameters and bytes."""
    constants = {id(t.data): t for t in graph.tensors() if t.data is not None}.values()
    elements = sum(t.size // t.dtype.numpy.itemsize for t in constants)
    size = bytes_text(sum(t.size for t in constants))
    sizes = "".join(f", {shown(str(symbol))}" for symbol in graph.symbols)
    return f"{len(graph.nodes)} nodes, {elements:,} parameters ({size}){sizes}"
