"""A call of an operator as a graph whose tensors are all inputs."""

from __future__ import annotations

from typing import cast

from spec_model import Arg, Op, TensorType
from spec_model.spec import TestCase, Variant
from spirloom.casegen.arrays import items_of
from spirloom.casegen.runs import Run, case_name, run_of
from spirloom.ir import ArgValue, DType, Graph, Node, Storage, Tensor


def run_in(op: Op, test: TestCase, dtype: DType | None, storage: Storage) -> Run | None:
    """The call for the first variant of the dtype (None: any) and storage that computes it."""
    name = case_name(op, test.args)
    fitting = (v for v in op.variants if v.storage is storage and dtype in (None, v.dtype))
    runs = (run_of(op, name, test, variant) for variant in fitting)
    return next((run for run in runs if run is not None), None)


def runs_by_dtypes(op: Op, test: TestCase, storage: Storage) -> list[Run]:
    """The call for each combination of dtypes in which a variant computes it."""
    found: dict[tuple[object, ...], Run] = {}
    name = case_name(op, test.args)
    for variant in op.variants:
        key = _dtypes(variant)
        if variant.storage is not storage or key in found:
            continue
        run = run_of(op, name, test, variant)
        if run is not None:
            found[key] = run
    return list(found.values())


def _dtypes(variant: Variant) -> tuple[object, ...]:
    return tuple(tensor.dtype for tensor in variant.tensors)


def typed_args(run: Run) -> dict[str, object]:
    """The arguments as Op evaluates them."""
    return {arg.name: _typed(run, arg) for arg in run.op.args}


def _typed(run: Run, arg: Arg) -> object:
    value = run.test.args[arg.name]
    if not arg.type.is_tensor or value is None:
        return value
    types = tuple(
        TensorType(tensor.shape, run.dtypes[arg.name]) for _, tensor in items_of(run, arg)
    )
    return types if isinstance(value, tuple) else types[0]


def call_graph(run: Run) -> Graph:
    """The graph of the call. Its tensors have no values."""
    graph = Graph(producer="spirloom")
    args = tuple(_argument(run, arg, graph) for arg in run.op.args)
    for output, tensor in zip(run.op.outputs, run.outputs, strict=True):
        graph.outputs.append(Tensor(output.name, tensor.dtype, tensor.shape))
    graph.nodes.append(Node(run.op.name, args, tuple(graph.outputs), run.case))
    return graph


def _argument(run: Run, arg: Arg, graph: Graph) -> ArgValue:
    value = run.test.args[arg.name]
    if not arg.type.is_tensor:
        return cast(ArgValue, value)
    if value is None:
        return None
    tensors = [
        Tensor(name, run.dtypes[arg.name], tensor.shape) for name, tensor in items_of(run, arg)
    ]
    graph.inputs += tensors
    return tuple(tensors) if isinstance(value, tuple) else tensors[0]
