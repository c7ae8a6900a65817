"""Calls as people write them, `4096x4096 4096x4096 f16`, as graphs to time and to check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spirloom.builder import Builder
from spirloom.casegen.runs import Run, case_name, run_of
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.ops import own_library

from benchmarks.gpu.calls import graph_of
from benchmarks.gpu.weights import with_synthetic_weights
from codegen import Op, SpecError
from codegen.cases import load_case
from codegen.errors import Position
from codegen.expr.types import EvalError
from codegen.spec import Kernel, TestCase, Variant
from codegen.vocabulary import Storage
from codegen.yaml_parser import parse_yaml

ERROR, SCALE = "error", "scale"  # outputs of a graph that checks


@dataclass(frozen=True, slots=True)
class Written:
    """A call's arguments, and the dtype to compute in."""

    text: str
    test: TestCase
    dtype: DType


def read_call(text: str, op: Op) -> Written:
    """Shapes are the operator's tensors in order, `-` an absent one; NAME=VALUE any argument."""
    tensors = [arg.name for arg in op.args if arg.type.is_tensor]
    words = [word for word in text.split() if word != op.short_name]
    dtypes = [word for word in words if word in DType.__members__.values()]
    if len(dtypes) != 1:
        named = f"this one names {len(dtypes)}"
        raise _wrong(text, f"A call names one dtype, as in '512x512 512x512 f16'; {named}.")
    given: dict[str, str] = {}
    for word in (word for word in words if word not in dtypes):
        name, equals, value = word.partition("=")
        if equals:
            given[name] = value
        elif tensors:
            given[tensors.pop(0)] = "null" if word == "-" else f"[{word.replace('x', ', ')}]"
        else:
            raise _wrong(text, f"{op.name} has no tensor left for '{word}'.")
    flow = ", ".join(f"{name}: {value}" for name, value in given.items())
    node = parse_yaml(f"{{{flow}}}", f"--call '{text}'")
    kernels = {kernel.name: kernel for kernel in op.kernels}
    return Written(text, load_case(node, op.args, kernels), DType(dtypes[0]))


def runs_in(op: Op, kernels: Iterable[Kernel], call: Written) -> Iterator[Run]:
    """The call for each of the kernels that can compute it in buffers."""
    for kernel in kernels:
        for variant in op.variants_of(kernel):
            if (variant.dtype, variant.storage) != (call.dtype, Storage.BUFFER):
                continue
            run = _run(op, call, variant)
            if run is not None:
                yield run


def _run(op: Op, call: Written, variant: Variant) -> Run | None:
    try:
        return run_of(op, case_name(op, call.test.args), call.test, variant)
    except EvalError as error:
        raise _wrong(call.text, f"This is no call of {op.name}: {error}") from None


def reference_run(op: Op, call: Written) -> Run:
    """The call by the operator's last kernel that computes it and needs nothing special."""
    portable = (k for k in reversed(op.kernels) if not k.needs and not k.for_tests)
    run = next(runs_in(op, portable, call), None)
    if run is None:
        raise _wrong(call.text, f"No portable kernel of {op.name} computes this in {call.dtype}.")
    return run


def timed_graph(run: Run, op: str) -> Graph:
    """The call of operator `op`, which takes what the run's takes."""
    graph = graph_of(run)
    graph.nodes[-1].op = op
    return with_synthetic_weights(graph)


def checking_graph(run: Run, op: str) -> Graph:
    """The greatest difference between `op` and the run's own operator, and the greatest result."""
    graph = graph_of(run)
    node = graph.nodes[-1]
    outputs = tuple(Tensor("swept", out.dtype, out.shape) for out in node.outputs)
    graph.nodes.append(Node(op, node.args, outputs, "swept"))
    builder = Builder(own_library(), graph)
    results = [builder.emit("aten._to_copy", x=x[0], dtype="f32") if x[0].dtype is not DType.F32
               else x[0] for x in (node.outputs, outputs)]  # fmt: skip
    difference = builder.emit("aten.sub.Tensor", a=results[0], b=results[1])
    graph.outputs = [_greatest(builder, difference, ERROR), _greatest(builder, results[0], SCALE)]
    return with_synthetic_weights(graph)


def _greatest(builder: Builder, x: Tensor, name: str) -> Tensor:
    size = builder.emit("aten.abs", x=x)
    most = builder.emit("aten.amax", x=size)
    most.name = name
    return most


def _wrong(text: str, message: str) -> SpecError:
    return SpecError.at(Position(f"--call '{text}'"), message)
