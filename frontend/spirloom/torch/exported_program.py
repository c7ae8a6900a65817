"""Reads a torch.export.ExportedProgram in process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spec_model.stored_float import decoded, float_format
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType
from spirloom.torch.archived_program import operator_name
from spirloom.torch.conditional import inline_conditions
from spirloom.torch.effects import without_tokens
from spirloom.torch.int_inputs import named_by_inputs
from spirloom.torch.program import (
    Argument,
    ArgValue,
    Branch,
    Call,
    IgnoredValue,
    Input,
    Kind,
    Outputs,
    OutputSpec,
    PlainValue,
    Program,
    Range,
    Ref,
    Result,
    SizeExpr,
    TensorMeta,
    TypeName,
    release,
)
from spirloom.torch.source_location import module_path
from spirloom.torch.values import own_dtype

# Names of torch's InputKind that are weights.
WEIGHTS = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")


def read_exported(exported: Any) -> Program:
    """Reads a torch.export.ExportedProgram. Raises ImportFailure."""
    import torch

    where = "the exported program"
    nodes = list(exported.graph.nodes)
    outputs = Outputs.of(map(_output, exported.graph_signature.output_specs), where)
    ints = {n.name: n.meta["val"] for n in nodes if n.op == "placeholder" and is_sym_int(n)}
    program = Program(
        where=where,
        inputs=tuple(_input(spec, ints) for spec in exported.graph_signature.input_specs),
        outputs=outputs.outputs,
        calls=tuple(map(call_of, calls_in(nodes))),
        metas=metas_of(nodes),
        symbols={str(s): range_of(r) for s, r in exported.range_constraints.items()},
        weights=TensorWeights({**exported.state_dict, **exported.constants}),
        mutated=outputs.mutated,
        updates=outputs.updates,
        version=release(str(torch.__version__)),
    )
    return named_by_inputs(inline_conditions(without_tokens(program)))


class TensorWeights(Mapping[str, Array]):
    """Torch tensors as arrays that share their memory."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> Array:
        import torch

        tensor = self._tensors[name].detach().cpu()
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            raise ImportFailure(
                f"'{name}' is a {type(tensor).__name__}; expected a plain tensor. Unwrap it before "
                "exporting (torchao.utils.unwrap_tensor_subclass)."
            )
        dtype = own_dtype(_dtype(tensor.dtype))
        if dtype is not None and float_format(dtype) is not None:
            integer = {1: torch.int8, 2: torch.int16}[dtype.row.bytes]
            codes: Array = tensor.contiguous().view(integer).numpy()
            stored = codes.view(dtype.numpy)
            return decoded(stored, dtype) if dtype is DType.BF16 else stored
        array: Array = tensor.numpy()
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def _input(spec: Any, ints: Mapping[str, Any]) -> Input:
    """The input of a spec. `ints`: the symbolic ints among the placeholders."""
    kind = spec.kind.name
    if kind in WEIGHTS:
        return Input(spec.arg.name, Kind.WEIGHT, spec.target)
    if kind != "USER_INPUT":
        return Input("", Kind.OTHER, kind.lower())
    if hasattr(spec.arg, "value"):
        return Input(spec.arg.name, Kind.USER, fixed=spec.arg.value)
    if spec.arg.name in ints:
        return Input(spec.arg.name, Kind.INT, fixed=size_of(ints[spec.arg.name]))
    return Input(spec.arg.name, Kind.USER)


def _output(spec: Any) -> OutputSpec:
    value = spec.arg.value if hasattr(spec.arg, "value") else Ref(spec.arg.name)
    return OutputSpec(spec.kind.name.lower(), value, spec.target or "")


def calls_in(nodes: Iterable[Any]) -> list[Any]:
    """The nodes that are calls of a program."""
    return [n for n in nodes if n.op == "call_function" and not is_part(n)]


def metas_of(nodes: Iterable[Any]) -> dict[str, TensorMeta]:
    """The types of the tensors that nodes compute, by name."""
    return {n.name: meta_of(n.meta["val"]) for n in nodes if n.op != "output" and is_tensor(n)}


def is_part(node: Any) -> bool:
    """Whether the node extracts one result of a node with several."""
    import operator

    return node.target is operator.getitem and not is_tensor(node.args[0])


def is_tensor(node: Any) -> bool:
    """Whether the node's result is a single tensor."""
    import torch

    return isinstance(node.meta.get("val"), torch.Tensor)


def is_sym_int(node: Any) -> bool:
    """Whether the node's result is a symbolic int."""
    import torch

    return isinstance(node.meta.get("val"), torch.SymInt)


def meta_of(value: Any) -> TensorMeta:
    """The type of a tensor."""
    shape, strides = (tuple(map(size_of, sizes)) for sizes in (value.shape, value.stride()))
    return TensorMeta(_dtype(value.dtype), shape, strides, size_of(value.storage_offset()))


def _dtype(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def size_of(size: Any) -> int | SizeExpr:
    """A torch size as int or expression. Does not call int() on a symbolic size, which would
    specialize the program to its value."""
    import sympy  # a dependency of torch

    if isinstance(size, int):
        return size
    expr = size.node.expr
    return int(expr) if expr.is_Integer else SizeExpr(sympy.srepr(expr))


def call_of(node: Any) -> Call:
    """The call of a node."""
    stack = node.meta.get("nn_module_stack") or {}
    return Call(
        operator_name(target_name(node.target)),
        tuple(_arguments(node)),
        _results(node),
        module_path([path for path, _ in stack.values()]),
        node.meta.get("stack_trace") or "",
    )


def target_name(target: Any) -> str:
    """The full name of what a node calls: a torch.ops operator, a function, or its name."""
    import torch

    if isinstance(target, str):
        return target.replace("::", ".")
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return f"{target.__module__}.{target.__name__}"


def _arguments(node: Any) -> Iterator[Argument]:
    """The arguments by the names of the schema, as in an archive."""
    schema = getattr(node.target, "_schema", None)
    names = [argument.name for argument in schema.arguments] if schema is not None else "abcdefgh"
    for name, value in zip(names, node.args, strict=False):
        yield Argument(name, _argument(value), keyword=False)
    for name, value in node.kwargs.items():
        yield Argument(name, _argument(value), keyword=True)


def _argument(value: Any) -> ArgValue:
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    return _plain(value)


def _plain(value: Any) -> PlainValue:
    import torch

    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.fx.Node):
        branch = _submodule(value)
        return Ref(value.name) if branch is None else _branch(branch)
    if isinstance(value, torch.dtype):
        return TypeName(_dtype(value))
    if isinstance(value, torch._ops.OpOverload):
        return IgnoredValue(operator_name(str(value)))
    return IgnoredValue(type(value).__name__)


def _submodule(node: Any) -> Any:
    """The graph module that a node reads; None if it is another node."""
    import torch

    if node.op != "get_attr":
        return None
    found = getattr(node.graph.owning_module, node.target, None)
    return found if isinstance(found, torch.fx.GraphModule) else None


def _branch(module: Any) -> Branch:
    """A branch of torch.cond."""
    nodes = list(module.graph.nodes)
    (output,) = (node for node in nodes if node.op == "output")
    outputs = output.args[0] if isinstance(output.args[0], list | tuple) else output.args
    return Branch(
        tuple(node.name for node in nodes if node.op == "placeholder"),
        tuple(_plain(value) for value in outputs),
        tuple(map(call_of, calls_in(nodes))),
        metas_of(nodes),
    )


def _results(node: Any) -> tuple[Result, ...]:
    """The node's name, or the names of the nodes that extract its results."""
    value = node.meta.get("val")
    if not isinstance(value, list | tuple):
        return (node.name,)
    names: list[Result] = [f"{node.name}_unused_{i}" for i in range(len(value))]
    for user in node.users:
        if is_part(user):
            names[user.args[1]] = user.name
    # A list is one result in a schema, a tuple several.
    if isinstance(value, tuple) and not _returns_list(node):
        return tuple(names)
    return (tuple(str(name) for name in names),)


def _returns_list(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and len(schema.returns) == 1


def range_of(bounds: Any) -> Range:
    """The bounds in torch's ValueRanges, which may be torch's integer infinity."""
    low, high = (
        int(bound) if getattr(bound, "is_Integer", False) else None
        for bound in (bounds.lower, bounds.upper)
    )
    return Range.of(low, high)
