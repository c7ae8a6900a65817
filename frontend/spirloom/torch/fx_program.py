"""The program in a graph of torch.fx whose calls are ATen's, without an export around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from spirloom.torch.execution_plan import Layout
from spirloom.torch.exported_program import (
    TensorWeights,
    call_of,
    is_part,
    is_tensor,
    meta_of,
    range_of,
    size_of,
)
from spirloom.torch.program import Given, Input, Kind, Meta, Plain, Program, Range, Ref, SizeOf


@dataclass(frozen=True, slots=True)
class Traced:
    """A graph module, its nodes that are calls, and the program that they are.

    A call of the program and the node of the same place are the same.
    """

    module: Any
    nodes: tuple[Any, ...]
    program: Program


def read_traced(module: Any, weights: Mapping[str, Any]) -> Traced:
    """`weights` are the tensors of those placeholders that are the same in every run."""
    import torch

    nodes = list(module.graph.nodes)
    constants = {n.name: _attribute(module, n.target) for n in nodes if n.op == "get_attr"}
    fixed = {**weights, **{n: v for n, v in constants.items() if isinstance(v, torch.Tensor)}}
    calls = tuple(n for n in nodes if n.op == "call_function" and not is_part(n))
    (output,) = (n for n in nodes if n.op == "output")
    program = Program(
        where="the module",
        inputs=tuple(_inputs(nodes, fixed)),
        outputs=tuple(_given(value) for value in output.args[0]),
        calls=tuple(map(call_of, calls)),
        metas={n.name: _meta(n.meta["val"]) for n in nodes if n.op != "output" and is_tensor(n)},
        weights=TensorWeights(fixed),
        version=str(torch.__version__).partition("+")[0],
    )
    return Traced(module, calls, program)


def sizes_of(module: Any, args: Iterable[Any]) -> dict[str, int]:
    """What the symbols are in the shapes of a graph's arguments."""
    import torch

    found: dict[str, int] = {}
    placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
    for node, value in zip(placeholders, args, strict=True):
        own = node.meta.get("val")
        pairs: list[tuple[int | SizeOf, int]] = []
        if isinstance(own, torch.Tensor):
            pairs = list(zip(meta_of(own).shape, value.shape, strict=True))
        elif isinstance(own, torch.SymInt):
            pairs = [(size_of(own), value)]
        for size, given in pairs:
            symbol = size.symbol() if isinstance(size, SizeOf) else None
            if symbol is not None:
                found[symbol] = int(given)
    return found


def ranges_of(module: Any) -> dict[str, Range]:
    """Between which numbers the symbols lie in the shapes of a graph's arguments."""
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
    """How torch lays out a value at these sizes of its symbols."""

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


def _given(value: Any) -> Given:
    import torch

    plain: Plain = value if isinstance(value, bool | int | float | str) else None
    return Ref(value.name) if isinstance(value, torch.fx.Node) else plain


def _meta(value: Any) -> Meta:
    """Of what does not lie in the host's memory as dense numbers, no type that there is."""
    import torch

    meta = meta_of(value)
    if value.device.type == "cpu" and value.layout is torch.strided:
        return meta
    kind = value.device.type if value.layout is torch.strided else str(value.layout)
    return Meta(
        f"{meta.dtype} ({kind.removeprefix('torch.')})", meta.shape, meta.strides, meta.start
    )


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


def views_of_inputs(traced: Traced) -> dict[int, str]:
    """The calls that make outputs which are views of inputs: copies of the device are none."""
    source = {n: n for n in traced.module.graph.nodes if n.op == "placeholder"}
    made_by: dict[Any, int] = {}
    for i, node in enumerate(traced.nodes):
        viewed = _viewed(node)
        if viewed in source:
            for made in (node, *(user for user in node.users if is_part(user))):
                source[made] = source[viewed]
                made_by[made] = i
    found: dict[int, str] = {}
    (output,) = (n for n in traced.module.graph.nodes if n.op == "output")
    for node in output.args[0]:
        while node in made_by:
            found[made_by[node]] = f"an output shares the memory of the input '{source[node]}'"
            node = _viewed(traced.nodes[made_by[node]])
    return found


def _viewed(node: Any) -> Any:
    """The argument whose memory the results of an operator share, as its schema tells."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not any(r.alias_info is not None for r in schema.returns):
        return None
    places = [i for i, a in enumerate(schema.arguments) if a.alias_info is not None]
    return node.args[places[0]] if places and places[0] < len(node.args) else None
