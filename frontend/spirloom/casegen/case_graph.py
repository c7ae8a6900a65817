"""The graph of a run: one node, so that what is tested is what an application would run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from codegen import Arg
from codegen.dynamic import packed_constants
from spirloom.casegen.arrays import Arrays, items_of
from spirloom.casegen.case_pack import NamedArray
from spirloom.casegen.run import Run
from spirloom.ir import ArgValue, Graph, Node, Storage, Tensor

PRODUCER = "spirloom cases"
COPY = "spirloom.copy"


@dataclass(frozen=True, slots=True)
class CaseGraph:
    graph: Graph
    inputs: tuple[NamedArray, ...]  # of the graph, in order


def build_graph(run: Run, arrays: Arrays) -> CaseGraph:
    """The op's call on inputs; on constants where a kernel packs weights, or the case says."""
    graph = Graph(producer=PRODUCER)
    inputs: list[NamedArray] = []
    args = tuple(_arg_value(run, arg, arrays, graph, inputs) for arg in run.op.args)
    for array, tensor in zip(arrays.expected, run.outputs, strict=True):
        storage = _storage(run, tensor.storage)
        graph.outputs.append(Tensor(array.name, array.dtype, array.data.shape, storage=storage))
    graph.nodes.append(Node(run.op.name, args, tuple(graph.outputs), run.case))
    return CaseGraph(graph, tuple(inputs))


def _storage(run: Run, storage: Storage | None) -> Storage | None:
    """What the file says: only where a tensor may live elsewhere than its node."""
    same = storage is run.variant.storage
    return None if same and not _binds_anywhere(run) else storage


def _binds_anywhere(run: Run) -> bool:
    """Whether the kernel takes or puts a tensor wherever it lies."""
    return any(operand.own_storage for operand in run.variant.kernel.operands)


def _arg_value(
    run: Run, arg: Arg, arrays: Arrays, graph: Graph, inputs: list[NamedArray]
) -> ArgValue:
    """The argument; tensors that are not constants are added to the graph's inputs."""
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


def _staged(run: Run, tensor: Tensor, graph: Graph) -> Tensor:
    """The tensor, put into a texture first where the runtime would else pass by the variant.

    Graph inputs are buffers. A view of a buffer is an alias, and a kernel that takes its input from
    wherever it lies would take it from there.
    """
    passed_by = _binds_anywhere(run) or run.op.view_of is not None
    if run.variant.storage is Storage.BUFFER or 0 in tensor.shape or not passed_by:
        return tensor
    staged = Tensor(f"{tensor.name}_texture", tensor.dtype, tensor.shape)
    staged.storage = run.variant.storage
    graph.nodes.append(Node(COPY, (tensor,), (staged,), "stage"))
    return staged
