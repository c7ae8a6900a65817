"""Parses calls such as `4096x4096 4096x4096 f16`, and builds graphs for timing and checking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from spirloom.builder import Builder
from spirloom.casegen.runs import Run, case_name, run_of
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import own_library

from benchmarks.gpu.calls import graph_of
from benchmarks.gpu.weights import with_synthetic_weights
from spec_model import Op, SpecError
from spec_model.errors import Position
from spec_model.expr.types import EvalError
from spec_model.load.cases import load_case
from spec_model.spec import Kernel, TestCase, Variant
from spec_model.vocabulary import Storage
from spec_model.yaml_parser import parse_yaml

ERROR, SCALE = "error", "scale"  # outputs of checking_graph()


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments and the compute dtype of a call."""

    text: str
    test: TestCase
    dtype: DType


def read_call(text: str, op: Op) -> Call:
    """Parses shapes of the operator's tensors in order, `-` (absent), NAME=VALUE, and a dtype."""
    tensors = [arg.name for arg in op.args if arg.type.is_tensor]
    words = [word for word in text.split() if word != op.short_name]
    dtypes = [word for word in words if word in DType.__members__.values()]
    if len(dtypes) != 1:
        found = f"found {len(dtypes)}"
        raise _error(text, f"Expected one dtype, as in '512x512 512x512 f16'; {found}.")
    given: dict[str, str] = {}
    for word in (word for word in words if word not in dtypes):
        name, equals, value = word.partition("=")
        if equals:
            given[name] = value
        elif tensors:
            given[tensors.pop(0)] = "null" if word == "-" else f"[{word.replace('x', ', ')}]"
        else:
            raise _error(text, f"{op.name} has no further tensor argument for '{word}'.")
    flow = ", ".join(f"{name}: {value}" for name, value in given.items())
    node = parse_yaml(f"{{{flow}}}", f"--call '{text}'")
    kernels = {kernel.name: kernel for kernel in op.kernels}
    return Call(text, load_case(node, op.args, kernels), DType(dtypes[0]))


def runs_in(op: Op, kernels: Iterable[Kernel], call: Call) -> Iterator[Run]:
    """The call with each kernel that supports it, in buffers."""
    for kernel in kernels:
        for variant in op.variants_of(kernel):
            if (variant.dtype, variant.storage) != (call.dtype, Storage.BUFFER):
                continue
            run = _run(op, call, variant)
            if run is not None:
                yield run


def _run(op: Op, call: Call, variant: Variant) -> Run | None:
    try:
        return run_of(op, case_name(op, call.test.args), call.test, variant)
    except EvalError as error:
        raise _error(call.text, f"Invalid call of {op.name}: {error}") from None


def reference_run(op: Op, call: Call) -> Run:
    """The call with the last portable kernel (without `needs`) of the operator that supports it."""
    portable = (k for k in reversed(op.kernels) if not k.needs and not k.test_only)
    run = next(runs_in(op, portable, call), None)
    if run is None:
        raise _error(call.text, f"No portable kernel of {op.name} supports this in {call.dtype}.")
    return run


def timed_graph(run: Run, op: str) -> Graph:
    """The call with operator `op`, which has the same arguments."""
    graph = graph_of(run)
    graph.nodes[-1].op = op
    return with_synthetic_weights(graph)


def checking_graph(run: Run, op: str) -> Graph:
    """The maximum difference between `op` and the run's operator, and the maximum result."""
    graph = graph_of(run)
    node = graph.nodes[-1]
    outputs = tuple(Tensor("swept", out.dtype, out.shape) for out in node.outputs)
    graph.nodes.append(Node(op, node.args, outputs, "swept"))
    builder = Builder(own_library(), graph)
    results = [builder.emit("aten._to_copy", x=x[0], dtype="f32") if x[0].dtype is not DType.F32
               else x[0] for x in (node.outputs, outputs)]  # fmt: skip
    difference = builder.emit("aten.sub.Tensor", a=results[0], b=results[1])
    graph.outputs = [_max_abs(builder, difference, ERROR), _max_abs(builder, results[0], SCALE)]
    return with_synthetic_weights(graph)


def _max_abs(builder: Builder, x: Tensor, name: str) -> Tensor:
    size = builder.emit("aten.abs", x=x)
    maximum = builder.emit("aten.amax", x=size)
    maximum.name = name
    return maximum


def _error(text: str, message: str) -> SpecError:
    return SpecError.at(Position(f"--call '{text}'"), message)
