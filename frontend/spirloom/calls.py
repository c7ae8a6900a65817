"""A model's calls of operators, for the code generator's selective builds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from codegen.expr.types import TensorType
from codegen.graph_file import Call
from codegen.spec import ArgType
from spirloom.ir import Graph, Node
from spirloom.ops import OpError, OpLibrary, argument_type
from spirloom.passes import optimize
from spirloom.progress import silent
from spirloom.torch.values import is_value

if TYPE_CHECKING:
    from spirloom.pte.foreign import Served


def import_calls(path: Path) -> list[Call]:
    """The calls that an ONNX model becomes without options. Raises ImportFailure."""
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.inputs import Shapes

    library = OpLibrary()
    graph = import_model(path, library, Shapes())
    optimize(graph, library)
    return calls(graph)


def program_calls(path: Path) -> list[Call]:
    """The calls that a program of ExecuTorch becomes: all its methods, as one graph each and, for
    the delegate, which fuses and folds nothing, as the program has them. Raises ImportFailure."""
    from spirloom.pte.file import ProgramFile
    from spirloom.pte.importer import ProgramImporter
    from spirloom.pte.method import instructions
    from spirloom.pte.reader import program_of
    from spirloom.torch.options import Options

    library, file = OpLibrary(), ProgramFile(path)
    found: list[Call] = []
    for method in filter(instructions, file.program["methods"]):
        importer = ProgramImporter(program_of(file, method), library, Options(), {})
        graph = importer.run(silent)
        found += calls(graph)
        found += [call for each in importer.bound for call in _bound_call(library, each)]
        optimize(graph, library)
        found += calls(graph)
    return found


def _bound_call(library: OpLibrary, bound: Served) -> Iterator[Call]:
    """What a delegate calls, unless its operator cannot take it so."""
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
    """The nodes, as `read_calls` gives those of the graph file."""
    return [_call(i, node) for i, node in enumerate(graph.nodes)]


def _call(index: int, node: Node) -> Call:
    storage = next((t.storage for t in node.outputs if t.storage is not None), None)
    return Call(
        node.op,
        tuple(argument_type(arg) for arg in node.args),
        storage,
        f"node {index} ({node.name}, {node.op})",
    )
