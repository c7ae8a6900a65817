"""The facts of a graph and its profile, as JSON values for the page."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure, reading
from spirloom.inspect import plan_memory
from spirloom.ir import Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.profile_file import ProfileFile
from spirloom.profiling import tables
from spirloom.report.modules import module_parts
from spirloom.report.views import views_of


def data_of(
    graph: Graph,
    title: str,
    profile: ProfileFile | None,
    errors: Mapping[str, float | None],
    library: OpLibrary | None = None,
) -> dict[str, Any]:
    """Everything that the page shows. Times in ms, sizes in bytes. `errors` are by tensor name.
    Without a profile, `library` (default: the built-in operators) is for the memory plan.
    """
    dispatches = dispatches_of_nodes(graph, profile)
    paths = [module_parts(node.name or node.op) for node in graph.nodes]
    edges = _edges(graph)
    data: dict[str, Any] = {
        "title": title,
        "producer": graph.producer,
        "inputs": [_label(t) for t in graph.inputs],
        "outputs": [_label(t) for t in graph.outputs],
        "nodes": [
            _node(graph, node, dispatches.get(i, []), profile, errors)
            for i, node in enumerate(graph.nodes)
        ],
        "edges": [[a, b] for a, b in edges],
        "views": views_of(paths, edges),
        "memory": (
            _memory_of_graph(graph, library or OpLibrary()) if profile is None else _memory(profile)
        ),
    }
    if profile is not None:
        data["profile"] = _profile(profile)
    return data


def _label(tensor: Tensor) -> list[Any]:
    shape = "×".join(map(str, tensor.shape)) or "scalar"
    kind = "constant" if tensor.is_constant else ""
    return [tensor.name, f"{tensor.dtype} {shape}", tensor.size, kind]


def _node(
    graph: Graph,
    node: Node,
    dispatches: Sequence[int],
    profile: ProfileFile | None,
    errors: Mapping[str, float | None],
) -> dict[str, Any]:
    dtype = str(node.outputs[0].dtype) if node.outputs else ""
    storage = node.outputs[0].storage if node.outputs else None
    found: dict[str, Any] = {
        "name": node.name or node.op,
        "op": node.op,
        "source": graph.source_of(node),
        "dtype": dtype,
        "storage": str(storage) if storage else "auto",
        "inputs": [_label(t) for t in dict.fromkeys(node.inputs())],
        "outputs": [_label(t) for t in node.outputs],
        "args": [str(arg) for arg in node.args if isinstance(arg, int | float | str)],
    }
    if profile is not None:
        own = [profile.dispatches[i] for i in dispatches]
        found["dispatches"] = list(dispatches)
        found["ms"] = sum(each.median for each in own) / 1e6
        if own:
            found["storage"] = own[-1].storage or found["storage"]
    given = [errors[t.name] for t in node.outputs if t.name in errors]
    if given:
        found["error"] = None if None in given else max(each for each in given if each is not None)
    return found


def _edges(graph: Graph) -> list[tuple[int, int]]:
    index = {tensor: i for i, node in enumerate(graph.nodes) for tensor in node.outputs}
    found: dict[tuple[int, int], None] = {}
    for i, node in enumerate(graph.nodes):
        for tensor in node.inputs():
            if tensor in index:
                found[index[tensor], i] = None
    return list(found)


def dispatches_of_nodes(graph: Graph, profile: ProfileFile | None) -> dict[int, list[int]]:
    """The dispatches of each node, by its name. Of nodes with one name, the first has those of
    operators that none of them has, such as packing.
    """
    if profile is None:
        return {}
    by_name: dict[str, list[int]] = defaultdict(list)
    for i, node in enumerate(graph.nodes):
        by_name[node.name].append(i)
    found: dict[int, list[int]] = defaultdict(list)
    computed: set[int] = set()  # nodes with a dispatch of their operator
    for index, dispatch in enumerate(profile.dispatches):
        nodes = by_name.get(dispatch.node, [])
        same = [i for i in nodes if graph.nodes[i].op == dispatch.op]
        if same:
            # The nodes of one name and operator share their dispatches in order.
            chosen = next((i for i in same if i not in computed), same[-1])
            computed.add(chosen)
            found[chosen].append(index)
        elif nodes:
            found[nodes[0]].append(index)
    return found


def _profile(profile: ProfileFile) -> dict[str, Any]:
    facts = tables.as_json(profile)
    for row, dispatch in zip(facts["dispatches"], profile.dispatches, strict=True):
        row["grid"] = "×".join(map(str, dispatch.grid))
        row["workgroup"] = "×".join(map(str, dispatch.workgroup))
        row["statistics"] = dict(dispatch.statistics)
        row["considered"] = [[t.kernel, t.result, t.reason] for t in dispatch.considered]
    facts["has_peaks"] = profile.peaks is not None
    facts["host"] = [[each.name, each.start, each.ns] for each in profile.host]
    facts["queue"] = [
        [int(each.name), each.start, each.ns]
        for each in profile.queue
        if int(each.name) < len(profile.dispatches)
    ]
    return facts


def _memory(profile: ProfileFile) -> dict[str, Any]:
    blocks: dict[int, int] = defaultdict(int)
    for tensor in profile.tensors:
        if tensor.block >= 0:
            blocks[tensor.block] = max(blocks[tensor.block], tensor.offset + tensor.allocated)
    bases, base = {}, 0
    for block in sorted(blocks):
        bases[block] = base
        base += blocks[block]
    writers = {
        t: i for i, each in reversed(list(enumerate(profile.dispatches))) for t in each.writes
    }
    step, peak = tables.peak_step(profile.tensors, len(profile.dispatches))
    return {
        "source": "the device's plan",
        "steps": [each.node for each in profile.dispatches],
        "unit": "dispatch",
        "size": base,
        "peak_step": step,
        "peak": peak,
        "totals": dict(profile.memory),
        "tensors": [
            [t.name, f"{t.dtype} {'×'.join(map(str, t.shape))}", bases[t.block] + t.offset,
             t.allocated, t.first, t.last, writers.get(t.id, t.first)]
            for t in profile.tensors
            if t.block >= 0
        ],
    }  # fmt: skip


def _memory_of_graph(graph: Graph, library: OpLibrary) -> dict[str, Any]:
    plan = plan_memory(graph, library)
    live = [0] * (len(graph.nodes) + 1)
    for block in plan.blocks:
        for step in range(block.first, block.last + 1):
            live[step] += block.size
    peak = max(live)
    return {
        "source": "a plan for buffers on any device; a profile has the device's plan",
        "steps": [node.name or node.op for node in graph.nodes],
        "unit": "node",
        "size": plan.peak,
        "peak_step": live.index(peak),
        "peak": peak,
        "totals": {
            "planned_bytes": plan.peak,
            "naive_bytes": plan.naive,
            "constant_bytes": plan.constants,
        },
        "tensors": [
            [b.tensor.name, _label(b.tensor)[1], b.offset, b.size, b.first, b.last, b.first]
            for b in plan.blocks
        ],
    }


def read_errors(path: Path) -> dict[str, float | None]:
    """The relative errors of tensors, from `spirloom compare --layers --json`. None: infinite or
    undefined. Raises ImportFailure.
    """
    found = _read_json(path, "spirloom compare A B --layers --json")
    rows = [*found.get("layers", []), *found.get("outputs", [])]
    try:
        return {
            str(row["name"]): None if row["relative"] is None else float(row["relative"])
            for row in rows
        }
    except (TypeError, KeyError, ValueError) as error:
        raise ImportFailure(f"{path} is not the output of spirloom compare --json.") from error


def read_partition(path: Path) -> dict[str, Any]:
    """The output of `spirloom partition --json`. Raises ImportFailure."""
    found = _read_json(path, "spirloom partition MODEL --json")
    if not isinstance(found.get("segments"), list):
        raise ImportFailure(f"{path} is not the output of spirloom partition --json.")
    return found


def _read_json(path: Path, command: str) -> dict[str, Any]:
    try:
        with reading(path):
            found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ImportFailure(f"{path} is not JSON. Write it with `{command} > FILE`.") from error
    if not isinstance(found, dict):
        raise ImportFailure(f"{path} is not JSON of `{command}`.")
    return found
