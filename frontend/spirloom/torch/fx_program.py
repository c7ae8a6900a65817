"""Reads the program of a torch.fx graph of ATen calls that is not an exported program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spirloom.torch.execution_plan import Layout
from spirloom.torch.exported_program import (
    TensorWeights,
    call_of,
    calls_in,
    is_part,
    is_tensor,
    meta_of,
    range_of,
    size_of,
)
from spirloom.torch.program import (
    ArgValue,
    Input,
    Kind,
    PlainValue,
    Program,
    Range,
    Ref,
    SizeExpr,
    TensorMeta,
    release,
)


@dataclass(frozen=True, slots=True)
class TracedGraph:
    """A graph module, its call nodes, and its program.

    `nodes[i]` is the node of `program.calls[i]`.
    """

    module: Any
    nodes: tuple[Any, ...]
    program: Program


def read_traced(module: Any, weights: Mapping[str, Any]) -> TracedGraph:
    """Reads a graph module. `weights`: the tensors of placeholders that are constant."""
    import torch

    nodes = list(module.graph.nodes)
    constants = {n.name: _attribute(module, n.target) for n in nodes if n.op == "get_attr"}
    fixed = {**weights, **{n: v for n, v in constants.items() if isinstance(v, torch.Tensor)}}
    calls = tuple(calls_in(nodes))
    (output,) = (n for n in nodes if n.op == "output")
    program = Program(
        where="the module",
        inputs=tuple(_inputs(nodes, fixed)),
        outputs=tuple(map(_output, output.args[0])),
        calls=tuple(map(call_of, calls)),
        metas={n.name: _meta(n.meta["val"]) for n in nodes if n.op != "output" and is_tensor(n)},
        weights=TensorWeights(fixed),
        version=release(str(torch.__version__)),
    )
    return TracedGraph(module, calls, program)


def sizes_of(module: Any, args: Iterable[Any]) -> dict[str, int]:
    """The values of the symbols in the shapes of a graph's arguments."""
    import torch

    found: dict[str, int] = {}
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    for node, value in zip(placeholders, args, strict=True):
        own = node.meta.get("val")
        pairs: list[tuple[int | SizeExpr, int]] = []
        if value is None:  # the token that orders effects, for which the graph has a tensor
            continue
        if isinstance(own, torch.Tensor):
            pairs = list(zip(meta_of(own).shape, value.shape, strict=True))
        elif isinstance(own, torch.SymInt):
            pairs = [(size_of(own), value)]
        for size, actual in pairs:
            symbol = size.symbol() if isinstance(size, SizeExpr) else None
            if symbol is not None:
                found[symbol] = int(actual)
    return found


def ranges_of(module: Any) -> dict[str, Range]:
    """The bounds of the symbols in the shapes of a graph's arguments."""
    import torch

    values = [n.meta.get("val") for n in module.graph.nodes if n.op == "placeholder"]
    sizes = [s for v in values for s in (v.shape if isinstance(v, torch.Tensor) else (v,))]
    return {
        str(symbol): range_of(size.node.shape_env.var_to_range[symbol])
        for size in sizes
        if isinstance(size, torch.SymInt)
        for symbol in size.node.expr.free_symbols
    }


def layout_of(value: Any, sizes: Mapping[str, int]) -> Layout:
    """The layout of a value for these values of its symbols."""

    def known(size: Any) -> int:
        found = size_of(size)
        return found if isinstance(found, int) else found.value(sizes)

    shape, strides = (tuple(map(known, ints)) for ints in (value.shape, value.stride()))
    return Layout(value.dtype, shape, strides, known(value.storage_offset()))


def _inputs(nodes: Iterable[Any], weights: Mapping[str, Any]) -> Iterable[Input]:
    import torch

    for node in nodes:
        if node.name in weights:
            yield Input(node.name, Kind.WEIGHT, node.name)
        elif node.op == "placeholder":
            value = node.meta.get("val")
            is_size = isinstance(value, torch.SymInt)
            yield Input(node.name, Kind.USER, fixed=size_of(value) if is_size else None)


def _output(value: Any) -> ArgValue:
    import torch

    plain: PlainValue = value if isinstance(value, bool | int | float | str) else None
    return Ref(value.name) if isinstance(value, torch.fx.Node) else plain


def _meta(value: Any) -> TensorMeta:
    """The type of a value. For tensors of other devices or layouts, an unsupported type name."""
    import torch

    meta = meta_of(value)
    if value.device.type == "cpu" and value.layout is torch.strided:
        return meta
    kind = value.device.type if value.layout is torch.strided else str(value.layout)
    dtype = f"{meta.dtype} ({kind.removeprefix('torch.')})"
    return TensorMeta(dtype, meta.shape, meta.strides, meta.storage_offset)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def outputs_viewing_inputs(traced: TracedGraph) -> dict[int, str]:
    """The calls whose outputs are views of inputs, with the reason to keep them on the host: the
    device would return copies."""
    source = {n: n for n in traced.module.graph.nodes if n.op == "placeholder"}
    made_by: dict[Any, int] = {}
    for i, node in enumerate(traced.nodes):
        viewed = _viewed(node)
        if viewed in source:
            for view in (node, *(user for user in node.users if is_part(user))):
                source[view] = source[viewed]
                made_by[view] = i
    found: dict[int, str] = {}
    (output,) = (n for n in traced.module.graph.nodes if n.op == "output")
    for node in output.args[0]:
        while node in made_by:
            found[made_by[node]] = f"an output shares the memory of the input '{source[node]}'"
            node = _viewed(traced.nodes[made_by[node]])
    return found


def _viewed(node: Any) -> Any:
    """The argument whose memory the results share, by the operator's schema."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not any(r.alias_info is not None for r in schema.returns):
        return None
    indices = [i for i, a in enumerate(schema.arguments) if a.alias_info is not None]
    return node.args[indices[0]] if indices and indices[0] < len(node.args) else None
