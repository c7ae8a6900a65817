"""The modules of nodes, from their names."""

from __future__ import annotations


def module_parts(name: str) -> tuple[str, ...]:
    """The path of a node, from the outermost module to the node itself.

    Names are those of ONNX ("/features/features.0/Conv + Relu") or of PyTorch
    ("m.layers.0/linear at model.py:12 + relu"). A fused node belongs to its first source node.
    """
    first, plus, rest = name.partition(" + ")
    path, at, line = first.partition(" at ")
    if path.startswith("/"):
        modules, _, leaf = path[1:].rpartition("/")
        parts = [part for part in modules.split("/") if part]
    else:
        modules, _, leaf = path.rpartition("/")
        parts = [part for part in modules.split(".") if part]
    return (*parts, f"{leaf}{at}{line}{plus}{rest}")
