"""Reads exported programs in ExecuTorch's edge dialect as ATen calls, with their weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spirloom.ir import Array
from spirloom.ops import OpLibrary
from spirloom.torch.archived_program import target_name
from spirloom.torch.exported_program import (
    WEIGHTS,
    TensorWeights,
    call_of,
    is_part,
    is_tensor,
    meta_of,
    range_of,
    size_of,
)
from spirloom.torch.program import Argument, Call, Given, Input, Kind, Program, Ref, SizeOf
from spirloom.torch.rules import handles


class PartitionWeights(TensorWeights):
    """The numbers behind such tensors, where torch still knows them; else ones or zeros.

    Scalars of the model's code are among them, on which much depends.
    """

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        real = _real_ones(tensors.values())
        super().__init__({name: real.get(id(tensor), tensor) for name, tensor in tensors.items()})

    def __getitem__(self, name: str) -> Array:
        tensor = self._tensors[name]
        if not _is_fake(tensor):
            return super().__getitem__(name)
        # Ones can be divided by; of whole numbers zeros are places that every table has.
        dtype = str(tensor.dtype).removeprefix("torch.").replace("bfloat16", "float32")
        number = np.ones((), dtype) if tensor.is_floating_point() else np.zeros((), dtype)
        return np.broadcast_to(number, tuple(tensor.shape))


def _is_fake(tensor: Any) -> bool:
    from torch._subclasses import FakeTensor

    return isinstance(tensor, FakeTensor)


def _real_ones(tensors: Iterable[Any]) -> dict[int, Any]:
    """What fake tensors were made of, by their ids: a mode keeps both by one number."""
    modes = {id(tensor.fake_mode): tensor.fake_mode for tensor in tensors if _is_fake(tensor)}
    found: dict[int, Any] = {}
    for mode in modes.values():
        try:
            converter = mode.fake_tensor_converter.meta_converter
            fakes, numbers = converter.tensor_memo, converter.describer.lookup_tensor
            found |= {id(fakes[at]): real for real, at in numbers.items() if at in fakes}
        except AttributeError:  # these are torch's own, and may change
            continue
    return found


_MUTATED = ("BUFFER_MUTATION", "PARAMETER_MUTATION")
# ExecuTorch's own for the order of dims in memory, which is no business of a delegate's.
_DIM_ORDER = {
    "dim_order_ops._to_dim_order_copy": "aten._to_copy",
    "dim_order_ops._clone_dim_order": "aten.clone",
}


def read_edge(exported: Any, library: OpLibrary) -> Program:
    """The program of an ExportedProgram of ExecuTorch's, or of torch's."""
    import torch

    nodes = list(exported.graph.nodes)
    specs = exported.graph_signature.output_specs
    numbers = {n.name: size_of(n.meta["val"]) for n in nodes if is_number(n)}
    return Program(
        where="the program",
        inputs=tuple(_input(spec, numbers) for spec in exported.graph_signature.input_specs),
        outputs=tuple(_output(spec.arg) for spec in specs),
        calls=tuple(edge_call(node, library) for node in calls_of(exported)),
        metas={n.name: meta_of(n.meta["val"]) for n in nodes if n.op != "output" and is_tensor(n)},
        symbols={str(s): range_of(r) for s, r in exported.range_constraints.items()},
        weights=PartitionWeights({**exported.state_dict, **exported.constants}),
        mutated=tuple(spec.target for spec in specs if spec.kind.name in _MUTATED),
        version=str(torch.__version__).partition("+")[0],
    )


def calls_of(exported: Any) -> list[Any]:
    """The nodes that are calls, in the program's order."""
    return [n for n in exported.graph.nodes if n.op == "call_function" and not is_part(n)]


def is_number(node: Any) -> bool:
    """Whether a node gives a whole number that follows from sizes."""
    import torch

    return isinstance(node.meta.get("val"), torch.SymInt)


def edge_call(node: Any, library: OpLibrary) -> Call:
    """What a node calls; copies of views are views."""
    call = call_of(node)
    name = operator_name(node.target, library)
    arguments = call.arguments
    if name != call.target:
        arguments = tuple(a for a in arguments if a.name != "dim_order")
    return replace(call, target=name, arguments=arguments)


def operator_name(target: Any, library: OpLibrary) -> str:
    """The name under which an operator is known here, of a torch.ops one, an edge one or a name."""
    own = getattr(target, "_op", None)  # of an edge operator, torch's
    is_edge = type(target).__name__ == "EdgeOpOverload"
    name = target_name(str(own) if is_edge else _name(target))
    name = _DIM_ORDER.get(name, name)
    space, _, rest = name.partition(".")
    packet, dot, overload = rest.partition(".")
    view = f"{space}.{packet.removesuffix('_copy')}{dot}{overload}"
    return view if not handles(name, library) and handles(view, library) else name


def _name(target: Any) -> str:
    import torch

    if isinstance(target, str):
        return target.replace("::", ".")
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return f"{target.__module__}.{target.__name__}"


def _input(spec: Any, numbers: Mapping[str, int | SizeOf]) -> Input:
    name = getattr(spec.arg, "name", "")
    if spec.kind.name in WEIGHTS:
        return Input(name, Kind.WEIGHT, spec.target)
    if spec.kind.name != "USER_INPUT":
        return Input(name, Kind.OTHER, spec.kind.name.lower())
    return Input(name, Kind.USER, fixed=numbers.get(name, getattr(spec.arg, "value", None)))


def _output(argument: Any) -> Given:
    value: Given = getattr(argument, "value", None)
    return Ref(argument.name) if getattr(argument, "name", "") else value


def part_of(program: Program, nodes: tuple[int, ...], takes: tuple[str, ...],
            gives: tuple[str, ...], numbers: Mapping[str, int | SizeOf]) -> Program:  # fmt: skip
    """The program that ExecuTorch makes a delegate of: these calls, with their weights."""
    calls = tuple(program.calls[i] for i in nodes)
    read = {item.name for call in calls for argument in call.arguments
            for item in _items(argument) if isinstance(item, Ref)}  # fmt: skip
    weights = [i for i in program.inputs if i.kind is Kind.WEIGHT and i.name in read]
    return replace(
        program,
        inputs=(
            *(given for given in weights if given.name not in takes),
            *(Input(name, Kind.USER, fixed=numbers.get(name)) for name in takes),
        ),
        outputs=tuple(Ref(name) for name in gives),
        calls=calls,
        mutated=(),
    )


def _items(argument: Argument) -> tuple[Any, ...]:
    return argument.value if isinstance(argument.value, tuple) else (argument.value,)
