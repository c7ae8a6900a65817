"""The operator calls of a model, for selective builds of the code generator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from spec_model.expr.types import TensorType
from spec_model.graph_file import Call, calls_in
from spec_model.spec import ArgType
from spirloom.ir import Graph, Node
from spirloom.op_library import OpError, OpLibrary, argument_type
from spirloom.passes import optimize
from spirloom.terminal import silent
from spirloom.torch.values import is_value

if TYPE_CHECKING:
    from spirloom.pte.delegate_binding import BoundCall


def import_calls(path: Path) -> list[Call]:
    """The calls of an ONNX model imported without options. Raises ImportFailure."""
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.inputs import Shapes

    library = OpLibrary()
    graph = import_model(path, library, Shapes())
    optimize(graph, library)
    return calls(graph)


def program_calls(path: Path) -> list[Call]:
    """The calls of an ExecuTorch program: all methods as one graph each and, for its delegates
    (which do not fuse or fold), as the program has them. Raises ImportFailure.
    """
    from spirloom.pte.file import ProgramFile
    from spirloom.pte.importer import ProgramImporter
    from spirloom.pte.method import SPIRLOOM, instructions
    from spirloom.pte.reader import program_of
    from spirloom.torch.options import Options

    library, file = OpLibrary(), ProgramFile(path)
    found: list[Call] = []
    for method in filter(instructions, file.program["methods"]):
        importer = ProgramImporter(program_of(file, method, library), library, Options(), {})
        graph = importer.run(silent)
        found += calls(graph)
        found += [call for each in importer.bound_calls for call in _bound_call(library, each)]
        optimize(graph, library)
        found += calls(graph)
        for row in method["delegates"]:
            if row["id"] == SPIRLOOM:
                found += calls_in(bytes(file.delegate_data(row["processed"])))
    return found


def _bound_call(library: OpLibrary, bound: BoundCall) -> Iterator[Call]:
    """The call of a delegate, unless its operator does not support it."""
    tensors = [v for v in bound.args.values() if is_value(v)]
    first = argument_type(tensors[0]) if tensors else None
    given: dict[str, object] = {}
    for arg in library.args(bound.op):
        value = bound.args.get(arg.name)
        is_number = isinstance(value, int | float)
        if is_number and arg.type is ArgType.TENSOR and isinstance(first, TensorType):
            value = TensorType((), first.dtype)
        elif isinstance(value, int) and arg.type in (ArgType.FLOAT, ArgType.NUMBER):
            value = float(value)
        if value is not None:
            given[arg.name] = value
    with suppress(OpError):
        values = library.complete(bound.op, given)
        library.infer(bound.op, values)
        yield Call(bound.op, tuple(map(argument_type, values)), None, bound.op)


def calls(graph: Graph) -> list[Call]:
    """The nodes, in the form that `read_calls` returns for a graph file."""
    return [_call(i, node) for i, node in enumerate(graph.nodes)]


def _call(index: int, node: Node) -> Call:
    storage = next((t.storage for t in node.outputs if t.storage is not None), None)
    return Call(
        node.op,
        tuple(argument_type(arg) for arg in node.args),
        storage,
        f"node {index} ({node.name}, {node.op})",
    )
