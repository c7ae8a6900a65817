"""Sorts the nodes of a model until that is consistent; calls of functions are opened if need be."""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto, NodeProto

from spirloom.budget import DEFAULT_EXTRA
from spirloom.onnx.functions import Functions
from spirloom.onnx.importer import MAX_NODES
from spirloom.onnx.inputs import Shapes
from spirloom.onnx.parts.found import Sorted, key_of
from spirloom.onnx.parts.sorter import Sorter
from spirloom.onnx.reader import opset_version
from spirloom.ops import OpLibrary

_SEQUENCE = "it makes a sequence, which only import knows, for a node that stays"


def sort_nodes(
    path: Path,
    model: ModelProto,
    library: OpLibrary,
    shapes: Shapes,
    forced: dict[str, str],
    constants_limit: int = DEFAULT_EXTRA,
) -> Sorted:
    """What each node of a model does; those in `forced`, to which more may be added, stay.

    Calls of the model's own functions that cannot go as a whole are replaced by their bodies.
    """
    functions = Functions(model, opset_version(model))
    while True:
        sorter = Sorter(path, model, library, shapes, forced, constants_limit)
        found = sorter.sort()
        entangled = {key: _SEQUENCE for key in sorted(sorter.entangled) if key not in forced}
        forced.update(entangled)
        if not _opened(model, functions, found) and not entangled:
            return found


def _opened(model: ModelProto, functions: Functions, found: Sorted) -> bool:
    """Whether some call was replaced by the body of its function."""
    opset, nodes, changed = opset_version(model), list[NodeProto](), False
    for node in model.graph.node:
        body = functions.own_body(node) if key_of(node) in found.stays else None
        fits = body is not None and body.opset == opset and _same_names(node, body.outputs)
        if body is not None and fits and len(nodes) + len(body.nodes) < MAX_NODES:
            nodes += body.nodes
            changed = True
        else:
            nodes.append(node)
    if changed:
        domains = {imported.domain for imported in model.opset_import}
        inner = [imported for f in model.functions for imported in f.opset_import]
        model.opset_import.extend({i.domain: i for i in inner if i.domain not in domains}.values())
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    return changed


def _same_names(node: NodeProto, outputs: tuple[str, ...]) -> bool:
    """Whether a body gives its results the names that the call has for them."""
    return list(node.output[: len(outputs)]) == list(outputs)
