"""Converts the runs of an operator to cases, each with a graph of one node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from spec_model import Arg, Diagnostic, Op, SpecError
from spec_model.op import packed_constants
from spirloom import graph_file
from spirloom.casegen.arrays import Arrays, UniformOutputs, items_of, make_arrays
from spirloom.casegen.case_pack import Case, NamedArray
from spirloom.casegen.runs import Run, runs_of
from spirloom.casegen.values import CaseError
from spirloom.ir import ArgValue, Graph, Node, Storage, Tensor

PRODUCER = "spirloom cases"
COPY = "spirloom.copy"


@dataclass(frozen=True, slots=True)
class CaseGraph:
    """A graph of one node, and the values of its inputs."""

    graph: Graph
    inputs: tuple[NamedArray, ...]  # in graph order


def build_graph(run: Run, arrays: Arrays) -> CaseGraph:
    """The graph of the call. Arguments that kernels pack, or as the case states, are constants."""
    graph = Graph(producer=PRODUCER)
    inputs: list[NamedArray] = []
    args = tuple(_arg_value(run, arg, arrays, graph, inputs) for arg in run.op.args)
    for array, tensor in zip(arrays.expected, run.outputs, strict=True):
        storage = _storage(run, tensor.storage)
        graph.outputs.append(Tensor(array.name, array.dtype, array.data.shape, storage=storage))
    graph.nodes.append(Node(run.op.name, args, tuple(graph.outputs), run.case))
    return CaseGraph(graph, tuple(inputs))


def _storage(run: Run, storage: Storage | None) -> Storage | None:
    """The storage in the file: only if it may differ from the storage of the node."""
    same = storage is run.variant.storage
    return None if same and not _binds_own_storage(run) else storage


def _binds_own_storage(run: Run) -> bool:
    """Whether the kernel binds a tensor in its own storage, independent of the variant."""
    return any(operand.own_storage for operand in run.variant.kernel.operands)


def _arg_value(
    run: Run, arg: Arg, arrays: Arrays, graph: Graph, inputs: list[NamedArray]
) -> ArgValue:
    """The argument. Tensors that are not constants are added to the graph's inputs."""
    value = run.test.args[arg.name]
    if not arg.type.is_tensor:
        return cast(ArgValue, value)
    if value is None:
        return None
    tensors = []
    for array, stored in zip(arrays.inputs[arg.name], _constants(run, arg), strict=True):
        data = array.data if stored else None
        tensor = Tensor(array.name, array.dtype, array.data.shape, data)
        if not stored:
            graph.inputs.append(tensor)
            inputs.append(array)
        tensors.append(_staged(run, tensor, graph))
    return tuple(tensors) if isinstance(value, tuple) else tensors[0]


def _constants(run: Run, arg: Arg) -> list[bool]:
    packed = arg.name in packed_constants(run.op, [run.variant.kernel])
    items = (item for _, item in items_of(run, arg))
    return [packed if item.constant is None else item.constant for item in items]


def _stages(run: Run) -> bool:
    """Whether tensors must be copied to textures, because the runtime would otherwise not use the
    variant.

    Graph inputs are buffers. A view of a buffer is an alias, and a kernel that binds its input in
    any storage would read the buffer.
    """
    unused = _binds_own_storage(run) or run.op.view_of is not None
    return run.variant.storage is not Storage.BUFFER and unused


def _staged(run: Run, tensor: Tensor, graph: Graph) -> Tensor:
    """The tensor, or its copy in a texture."""
    if 0 in tensor.shape or not _stages(run):
        return tensor
    staged = Tensor(f"{tensor.name}_texture", tensor.dtype, tensor.shape)
    staged.storage = run.variant.storage
    graph.nodes.append(Node(COPY, (tensor,), (staged,), "stage"))
    return staged


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A graph file of one node, and the values of its inputs."""

    graph: bytes
    inputs: tuple[NamedArray, ...]


def cases_of(op: Op) -> Iterator[Case]:
    """All cases of an op. Runs of one case with equal dtypes share their arrays, and their graphs
    unless the variants need different ones.

    Raises SpecError at the line of the test or of the reference.
    """
    arrays: dict[tuple[object, ...], Arrays] = {}
    files: dict[tuple[object, ...], CaseFile] = {}
    outputs = UniformOutputs()
    for run in runs_of(op):
        key = (run.case, *run.dtypes.items(), *(output.dtype for output in run.outputs))
        if key not in arrays:
            arrays[key] = _arrays(run)
        outputs.add(run, arrays[key])
        of_graph = (*key, *_differences(run))
        if of_graph not in files:
            files[of_graph] = _file(run, arrays[key])
        yield _make_case(run, arrays[key], files[of_graph])
    outputs.check()


def case_of(run: Run) -> Case:
    """The case of one run. Raises SpecError at the line of the test or of the reference."""
    arrays = _arrays(run)
    return _make_case(run, arrays, _file(run, arrays))


def _differences(run: Run) -> Iterator[object]:
    """What build_graph() uses of the variant."""
    for arg in run.op.args:
        if arg.type.is_tensor and run.test.args[arg.name] is not None:
            yield tuple(_constants(run, arg))
    for output in run.outputs:
        yield _storage(run, output.storage)
    yield _stages(run) and run.variant.storage


def _file(run: Run, arrays: Arrays) -> CaseFile:
    built = build_graph(run, arrays)
    return CaseFile(graph_file.to_bytes(built.graph), built.inputs)


def _arrays(run: Run) -> Arrays:
    try:
        return make_arrays(run)
    except CaseError as error:
        raise SpecError.at(run.test.position, f"{error} (In {run.id}.)") from error
    except SpecError as error:
        raise SpecError(
            Diagnostic(each.position, f"{each.message} (In {run.id}.)")
            for each in error.diagnostics
        ) from error


def _make_case(run: Run, arrays: Arrays, file: CaseFile) -> Case:
    return Case(
        id=run.id,
        op=run.op.name,
        variant=run.variant.id,
        kernel=run.variant.kernel.name,
        storage=run.variant.storage,
        graph=file.graph,
        inputs=file.inputs,
        expected=arrays.expected,
        tolerances=tuple(run.op.tolerance[output.dtype] for output in run.outputs),
        unfinished=arrays.unfinished,
    )
