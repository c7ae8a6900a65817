"""The calls of calls.yaml, as a case pack for spirloom-kernels and as JSON for PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from spirloom import graph_file
from spirloom.casegen.arrays import Arrays, items_of
from spirloom.casegen.case_pack import Case, NamedArray, to_bytes
from spirloom.casegen.make import build_graph
from spirloom.casegen.runs import Run, case_name, run_of
from spirloom.ir import Graph

from benchmarks.calls import library
from benchmarks.gpu.weights import with_synthetic_weights
from benchmarks.work import moved_bytes, multiply_adds
from spec_model import Library, SpecError
from spec_model.fields import Fields, as_sequence, as_word
from spec_model.load.cases import load_case
from spec_model.spec import TensorCase
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_reader import Node, SourceFile, read_yaml

TABLE = Path(__file__).with_name("calls.yaml")
FLOATS = (DType.F32, DType.F16)


@dataclass(frozen=True, slots=True)
class GpuCall:
    """A call of an operator; `args` are its arguments, with tensors as shapes.

    `multiply_adds` are those of the operator's definition; `bytes` counts each operand and result
    once. Both are per call.
    """

    id: str
    group: str
    dtype: str
    multiply_adds: int
    bytes: int
    torch: str
    args: list[Any]


def write_pack(path: Path, table: Path = TABLE) -> list[GpuCall]:
    """Writes the case pack, without inputs. Raises SpecError for an invalid table."""
    found = list(calls_of(library(), table))
    path.write_bytes(to_bytes(case for _, case in found))
    return [call for call, _ in found]


def calls_of(ops: Library, table: Path) -> Iterator[tuple[GpuCall, Case]]:
    """The calls of a table, in order."""
    root = read_yaml(SourceFile(table, table.name))
    for entry in root.entries:
        for row in as_sequence(entry.value, f"'{entry.key.text}'").items:
            yield from _calls(ops, entry.key.text, row)


def _calls(ops: Library, group: str, row: Node) -> Iterator[tuple[GpuCall, Case]]:
    fields = Fields.of(row, "a call", ("op", "call", "dtypes", "torch"))
    name = fields.need_scalar("op")
    if name.text not in ops.ops:
        raise SpecError.at(name.position, f"Operator '{name.text}' has no spec.")
    op = ops.ops[name.text]
    test = load_case(fields.need("call"), op.args, {kernel.name: kernel for kernel in op.kernels})
    dtypes, torch = fields.get("dtypes"), fields.scalar("torch")
    wanted: tuple[DType, ...] = FLOATS
    if dtypes is not None:
        wanted = tuple(
            as_word(item, DType, "DType") for item in as_sequence(dtypes, "dtypes").items
        )
    for dtype in wanted:
        fitting = (v for v in op.variants if (v.dtype, v.storage) == (dtype, Storage.BUFFER))
        runs = (run_of(op, case_name(op, test.args), test, variant) for variant in fitting)
        run = next((run for run in runs if run is not None), None)
        if run is None:
            message = f"No kernel of {op.name} computes the call in {dtype}."
            raise SpecError.at(test.position, message)
        yield _case(group, run, op.name if torch is None else torch.text)


def _case(group: str, run: Run, torch: str) -> tuple[GpuCall, Case]:
    graph = graph_of(run)
    call = call_of(group, run, graph, torch)
    return call, timed_case(call.id, run.op.name, with_synthetic_weights(graph))


def graph_of(run: Run) -> Graph:
    """The call as a graph of one node; its constants are broadcast zeros, which take no memory."""
    arrays = Arrays({name: _empty(run, name) for name in run.dtypes}, _results(run))
    return build_graph(run, arrays).graph


def call_of(group: str, run: Run, graph: Graph, torch: str) -> GpuCall:
    """The description of a call; `graph` is its graph."""
    node = graph.nodes[-1]
    args = dict(zip((arg.name for arg in run.op.args), node.args, strict=True))
    return GpuCall(
        id=f"{run.op.name}/{run.case}/{run.variant.dtype}",
        group=group,
        dtype=str(run.variant.dtype),
        multiply_adds=multiply_adds(node, args),
        bytes=moved_bytes(node, args),
        torch=torch,
        args=[_as_json(value) for value in run.test.args.values()],
    )


def timed_case(name: str, op: str, graph: Graph) -> Case:
    """A case without inputs, which the program generates, and with the default kernel."""
    return Case(
        id=name,
        op=op,
        variant=None,
        kernel=None,
        storage=Storage.BUFFER,
        graph=graph_file.to_bytes(graph),
        inputs=(),
        expected=(),
        tolerances=(),
    )


def _empty(run: Run, name: str) -> tuple[NamedArray, ...]:
    """Broadcast arrays of the argument's shapes, which take no memory."""
    arg = next(arg for arg in run.op.args if arg.name == name)
    return tuple(
        _array(item, run.dtypes[name], tensor.shape) for item, tensor in items_of(run, arg)
    )


def _results(run: Run) -> tuple[NamedArray, ...]:
    return tuple(
        _array(output.name, tensor.dtype, tensor.shape)
        for output, tensor in zip(run.op.outputs, run.outputs, strict=True)
    )


def _array(name: str, dtype: DType, shape: tuple[int, ...]) -> NamedArray:
    return NamedArray(name, dtype, np.broadcast_to(np.zeros((), dtype.numpy), shape))


def _as_json(value: object) -> Any:
    """A JSON value; a tensor is {"shape": …}."""
    if isinstance(value, TensorCase):
        return {"shape": list(value.shape)}
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    return cast(Any, value)
