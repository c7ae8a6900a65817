"""The program that torch.export gives in this process; torch itself is asked for nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spirloom.bfloat16 import from_bfloat16
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.torch.archived_program import target_name
from spirloom.torch.program import (
    Argument,
    Call,
    Given,
    Input,
    Kind,
    Meta,
    Plain,
    Program,
    Range,
    Ref,
    Result,
    SizeOf,
    TypeName,
    Word,
)
from spirloom.torch.source_location import module_path

# The kinds of inputs and outputs that torch.export tells apart, as far as they matter here.
WEIGHTS = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")
BUFFER_MUTATION = "BUFFER_MUTATION"
MUTATIONS = (BUFFER_MUTATION, "USER_INPUT_MUTATION", "PARAMETER_MUTATION")


def read_exported(exported: Any) -> Program:
    """The program of a torch.export.ExportedProgram. Raises ImportFailure."""
    import torch

    nodes = list(exported.graph.nodes)
    outputs, mutated, updates = _outputs(exported)
    tensors = [n for n in nodes if n.op != "output" and is_tensor(n)]
    return Program(
        where="the exported program",
        inputs=tuple(_input(spec) for spec in exported.graph_signature.input_specs),
        outputs=outputs,
        calls=tuple(call_of(n) for n in nodes if n.op == "call_function" and not is_part(n)),
        metas={n.name: meta_of(n.meta["val"]) for n in tensors},
        symbols={str(s): range_of(r) for s, r in exported.range_constraints.items()},
        weights=TensorWeights({**exported.state_dict, **exported.constants}),
        mutated=mutated,
        updates=updates,
        version=str(torch.__version__).partition("+")[0],
    )


class TensorWeights(Mapping[str, Array]):
    """The weights as arrays over torch's memory."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> Array:
        import torch

        tensor = self._tensors[name].detach().cpu()
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise ImportFailure(
                f"'{name}' is a {type(tensor).__name__}; only plain tensors are supported. Unwrap "
                "it (torchao.utils.unwrap_tensor_subclass) before exporting."
            )
        if tensor.dtype is torch.bfloat16:
            return from_bfloat16(tensor.contiguous().view(torch.uint16).numpy())
        array: Array = tensor.numpy()
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def _input(spec: Any) -> Input:
    kind = spec.kind.name
    if kind in WEIGHTS:
        return Input(spec.arg.name, Kind.WEIGHT, spec.target)
    if kind != "USER_INPUT":
        return Input("", Kind.OTHER, kind.lower())
    if hasattr(spec.arg, "value"):
        return Input(spec.arg.name, Kind.USER, fixed=spec.arg.value)
    return Input(spec.arg.name, Kind.USER)


def _outputs(exported: Any) -> tuple[tuple[Given, ...], tuple[str, ...], dict[str, Ref]]:
    outputs: list[Given] = []
    mutated: list[str] = []
    updates: dict[str, Ref] = {}
    for spec in exported.graph_signature.output_specs:
        kind = spec.kind.name
        if kind == "USER_OUTPUT":
            outputs.append(spec.arg.value if hasattr(spec.arg, "value") else Ref(spec.arg.name))
        elif kind in MUTATIONS:
            mutated.append(spec.target)
            if kind == BUFFER_MUTATION:
                updates[spec.target] = Ref(spec.arg.name)
        elif kind != "TOKEN":
            raise ImportFailure(f"The program gives a {kind.lower()}; only outputs are supported.")
    return tuple(outputs), tuple(mutated), updates


def is_part(node: Any) -> bool:
    """Whether the node only names a result of another one."""
    import operator

    return node.target is operator.getitem and not is_tensor(node.args[0])


def is_tensor(node: Any) -> bool:
    """Whether the node gives one tensor."""
    import torch

    return isinstance(node.meta.get("val"), torch.Tensor)


def meta_of(value: Any) -> Meta:
    """The type of a tensor."""
    shape, strides = (tuple(map(size_of, sizes)) for sizes in (value.shape, value.stride()))
    return Meta(_dtype(value.dtype), shape, strides, size_of(value.storage_offset()))


def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def size_of(size: Any) -> int | SizeOf:
    """A size of torch's. Asking one for its number would fix it for all later calls."""
    import sympy  # torch's own

    if isinstance(size, int):
        return size
    expr = size.node.expr
    return int(expr) if expr.is_Integer else SizeOf(sympy.srepr(expr))


def call_of(node: Any) -> Call:
    """What a node calls."""
    stack = node.meta.get("nn_module_stack") or {}
    return Call(
        _target(node.target),
        tuple(_arguments(node)),
        _results(node),
        module_path([path for path, _ in stack.values()]),
        node.meta.get("stack_trace") or "",
    )


def _target(target: Any) -> str:
    import torch

    if isinstance(target, torch._ops.OpOverload):
        return target_name(str(target))
    return target_name(f"{target.__module__}.{target.__name__}")


def _arguments(node: Any) -> Iterator[Argument]:
    """Under the names of the schema, as an archive has them."""
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else "abcdefgh"
    for name, value in zip(names, node.args, strict=False):
        yield Argument(name, _given(value), keyword=False)
    for name, value in node.kwargs.items():
        yield Argument(name, _given(value), keyword=True)


def _given(value: Any) -> Given:
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return _plain(value)


def _plain(value: Any) -> Plain:
    import torch

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.fx.Node):
        return Ref(value.name)
    if isinstance(value, torch.dtype):
        return TypeName(_dtype(value))
    return Word(type(value).__name__)


def _results(node: Any) -> tuple[Result, ...]:
    """One name, or those of the nodes that take the parts."""
    value = node.meta.get("val")
    if not isinstance(value, list | tuple):
        return (node.name,)
    names: list[Result] = [f"{node.name}_unused_{i}" for i in range(len(value))]
    for user in node.users:
        if is_part(user):
            names[user.args[1]] = user.name
    # A list is one result in a schema, a tuple several.
    if isinstance(value, tuple) and not _gives_list(node):
        return tuple(names)
    return (tuple(str(name) for name in names),)


def _gives_list(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and len(schema.returns) == 1


def range_of(bounds: Any) -> Range:
    """Between which sizes a symbol lies, of torch's ValueRanges."""
    return Range(_end(bounds.lower), _end(bounds.upper))


def _end(end: Any) -> int | None:
    """A finite bound: torch has an infinity of its own for whole numbers."""
    return int(end) if getattr(end, "is_Integer", False) and abs(int(end)) < 1 << 60 else None
