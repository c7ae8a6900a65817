"""Programs whose sizes stay open: those that only call a delegate of SpirloomBackend, whose graph
states the symbols and the formulas of all sizes."""

from __future__ import annotations

from collections.abc import Sequence

from spec_model.flatbuffer import NOTHING, MalformedBuffer, Member, Row
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Graph, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.pte.file import ProgramFile
from spirloom.pte.graph_delegate import graph_of
from spirloom.pte.method import SPIRLOOM, instructions
from spirloom.torch.options import Options
from spirloom.torch.values import border_type, scalar_type

_REMEDY = (
    "Programs of ExecuTorch state the maximum of each size, but neither which sizes are equal nor "
    "how others follow from them, so that they are imported at the maximum sizes. Import the "
    "exported program (torch.export.save) instead, or export with SpirloomPartitioner a program "
    "that one delegate contains."
)


def open_graph_of(file: ProgramFile, method: Row, library: OpLibrary) -> Graph | None:
    """The graph of a method that consists of one delegate of SpirloomBackend with dynamic sizes.
    None for other methods, and for operators that are not in the library. Raises ImportFailure.
    """
    call = _only_delegate(method)
    if call is None:
        return None
    delegate = method["delegates"][call["delegate"]]
    try:
        graph = graph_of(file.delegate_data(delegate["processed"]), "delegate 0")
        for node in graph.nodes:
            library.arg_names(node.op)
    except (MalformedBuffer, OpError, Unsupported):
        return None  # the import of single calls reports it
    if not graph.symbols or not _is_whole(method, graph, call["args"]):
        return None
    return graph


def refuse_dims(options: Options, file: ProgramFile) -> None:
    """Raises ImportFailure if sizes or bounds are chosen."""
    for name in (*options.sizes, *options.symbols):
        raise ImportFailure(f"--dim {name}: {file.path} has no such size. {_REMEDY}")


def _only_delegate(method: Row) -> Row | None:
    """The only instruction of a method, if it calls a delegate of SpirloomBackend."""
    actions = [row["action"] or NOTHING for row in instructions(method)]
    calls = [(kind, row) for kind, row in actions if kind != "FreeCall"]
    if len(calls) != 1 or calls[0][0] != "DelegateCall":
        return None
    call: Row = calls[0][1]
    delegates = method["delegates"]
    valid = 0 <= call["delegate"] < len(delegates)
    return call if valid and delegates[call["delegate"]]["id"] == SPIRLOOM else None


def _is_whole(method: Row, graph: Graph, args: Sequence[int]) -> bool:
    """Whether the delegate's tensors are those of the method. If so, they get the names and the
    order of the method's, in place.
    """
    values: list[Member | None] = [row["value"] for row in method["values"]]
    if any(not 0 <= i < len(values) for i in (*args, *method["inputs"], *method["outputs"])):
        return False
    kinds = {index: values[index] or NOTHING for index in args}
    count = len(args) - len(graph.outputs)
    takes = [index for index in args[: max(count, 0)] if kinds[index][0] == "Tensor"]
    gives = list(args[max(count, 0) :])
    given = [i for i in method["inputs"] if (values[i] or NOTHING)[0] == "Tensor"]
    if sorted(takes) != sorted(given) or sorted(gives) != sorted(method["outputs"]):
        return False
    pairs = [*zip(takes, graph.inputs, strict=False), *zip(gives, graph.outputs, strict=False)]
    if len(takes) != len(graph.inputs) or not all(_same_type(kinds[i][1], t) for i, t in pairs):
        return False
    inputs, outputs = (
        dict(zip(takes, graph.inputs, strict=True)),
        dict(zip(gives, graph.outputs, strict=True)),
    )
    graph.inputs = [inputs[index] for index in given]
    graph.outputs = [outputs[index] for index in method["outputs"]]
    for position, index in enumerate(method["inputs"]):
        if index in inputs:
            inputs[index].name = f"input{position}"
    for position, tensor in enumerate(graph.outputs):
        tensor.name = f"output{position}"
    return True


def _same_type(row: Row, tensor: Tensor) -> bool:
    """Whether the delegate's tensor has the type that the program's has in graphs."""
    try:
        return border_type(scalar_type(row["type"])) is tensor.dtype
    except Unsupported:
        return False
