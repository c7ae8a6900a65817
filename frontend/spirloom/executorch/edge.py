"""Reads exported programs in ExecuTorch's edge dialect as ATen calls, with their weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from spirloom.ir import Array
from spirloom.op_library import OpLibrary
from spirloom.torch.archived_program import operator_name
from spirloom.torch.exported_program import (
    WEIGHTS,
    TensorWeights,
    call_of,
    calls_in,
    is_sym_int,
    metas_of,
    range_of,
    size_of,
    target_name,
)
from spirloom.torch.program import (
    Argument,
    ArgValue,
    Call,
    Input,
    Kind,
    Program,
    Ref,
    SizeExpr,
    release,
)
from spirloom.torch.rules import handles


class PartitionWeights(TensorWeights):
    """Values of fake tensors: those of the original tensors if torch retains them, else 1 or 0.

    They include scalar constants of the model's code, on which many import rules depend.
    """

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        real = _real_tensors(tensors.values())
        super().__init__({name: real.get(id(tensor), tensor) for name, tensor in tensors.items()})

    def __getitem__(self, name: str) -> Array:
        tensor = self._tensors[name]
        if not _is_fake(tensor):
            return super().__getitem__(name)
        # Ones are valid divisors. Integer zeros are valid indices.
        dtype = str(tensor.dtype).removeprefix("torch.").replace("bfloat16", "float32")
        value = np.ones((), dtype) if tensor.is_floating_point() else np.zeros((), dtype)
        return np.broadcast_to(value, tuple(tensor.shape))


def _is_fake(tensor: Any) -> bool:
    from torch._subclasses import FakeTensor

    return isinstance(tensor, FakeTensor)


def _real_tensors(tensors: Iterable[Any]) -> dict[int, Any]:
    """The original tensors of fake tensors, by id(). A fake-tensor mode maps both to one id."""
    modes = {id(tensor.fake_mode): tensor.fake_mode for tensor in tensors if _is_fake(tensor)}
    found: dict[int, Any] = {}
    for mode in modes.values():
        try:
            converter = mode.fake_tensor_converter.meta_converter
            fakes, ids = converter.tensor_memo, converter.describer.lookup_tensor
            found |= {id(fakes[i]): real for real, i in ids.items() if i in fakes}
        except AttributeError:  # private attributes of torch, which may change
            continue
    return found


_MUTATED = ("BUFFER_MUTATION", "PARAMETER_MUTATION")
# ExecuTorch's operators that change the memory format. Delegates ignore memory formats.
_DIM_ORDER = {
    "dim_order_ops._to_dim_order_copy": "aten._to_copy",
    "dim_order_ops._clone_dim_order": "aten.clone",
}


def read_edge(exported: Any, library: OpLibrary) -> Program:
    """Converts an ExportedProgram of ExecuTorch or of torch."""
    import torch

    nodes = list(exported.graph.nodes)
    specs = exported.graph_signature.output_specs
    sym_ints = {n.name: size_of(n.meta["val"]) for n in nodes if is_sym_int(n)}
    return Program(
        where="the program",
        inputs=tuple(_input(spec, sym_ints) for spec in exported.graph_signature.input_specs),
        outputs=tuple(_output(spec.arg) for spec in specs),
        calls=tuple(edge_call(node, library) for node in calls_in(nodes)),
        metas=metas_of(nodes),
        symbols={str(s): range_of(r) for s, r in exported.range_constraints.items()},
        weights=PartitionWeights({**exported.state_dict, **exported.constants}),
        mutated=tuple(spec.target for spec in specs if spec.kind.name in _MUTATED),
        version=release(str(torch.__version__)),
    )


def edge_call(node: Any, library: OpLibrary) -> Call:
    """Converts a call node; …_copy operators become views."""
    call = call_of(node)
    name = edge_operator_name(node.target, library)
    arguments = call.arguments
    if name != call.target:
        arguments = tuple(a for a in arguments if a.name != "dim_order")
    return replace(call, target=name, arguments=arguments)


def edge_operator_name(target: Any, library: OpLibrary) -> str:
    """The ATen name of a torch.ops operator, an edge operator or an operator name."""
    own = getattr(target, "_op", None)  # the torch operator of an edge operator
    is_edge = type(target).__name__ == "EdgeOpOverload"
    name = operator_name(str(own) if is_edge else target_name(target))
    name = _DIM_ORDER.get(name, name)
    space, _, rest = name.partition(".")
    packet, dot, overload = rest.partition(".")
    view = f"{space}.{packet.removesuffix('_copy')}{dot}{overload}"
    return view if not handles(name, library) and handles(view, library) else name


def _input(spec: Any, sym_ints: Mapping[str, int | SizeExpr]) -> Input:
    name = getattr(spec.arg, "name", "")
    if spec.kind.name in WEIGHTS:
        return Input(name, Kind.WEIGHT, spec.target)
    if spec.kind.name != "USER_INPUT":
        return Input(name, Kind.OTHER, spec.kind.name.lower())
    return Input(name, Kind.USER, fixed=sym_ints.get(name, getattr(spec.arg, "value", None)))


def _output(argument: Any) -> ArgValue:
    value: ArgValue = getattr(argument, "value", None)
    return Ref(argument.name) if getattr(argument, "name", "") else value


def part_of(program: Program, nodes: tuple[int, ...], takes: tuple[str, ...],
            gives: tuple[str, ...], sym_ints: Mapping[str, int | SizeExpr]) -> Program:  # fmt: skip
    """The program of a delegate: these calls, with their weights."""
    calls = tuple(program.calls[i] for i in nodes)
    read = {item.name for call in calls for argument in call.arguments
            for item in _items(argument) if isinstance(item, Ref)}  # fmt: skip
    weights = [i for i in program.inputs if i.kind is Kind.WEIGHT and i.name in read]
    return replace(
        program,
        inputs=(
            *(weight for weight in weights if weight.name not in takes),
            *(Input(name, Kind.USER, fixed=sym_ints.get(name)) for name in takes),
        ),
        outputs=tuple(Ref(name) for name in gives),
        calls=calls,
        mutated=(),
    )


def _items(argument: Argument) -> tuple[Any, ...]:
    return argument.value if isinstance(argument.value, tuple) else (argument.value,)
