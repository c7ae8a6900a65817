"""A model's calls of operators, for the code generator's selective builds."""

from __future__ import annotations

from pathlib import Path

from codegen.graph_file import Call
from spirloom.ir import Graph, Node
from spirloom.ops import OpLibrary, argument_type
from spirloom.passes import OPTIMIZATIONS, optimize


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
    the delegate, which fuses nothing, as the program has them. Raises ImportFailure."""
    from spirloom.pte.file import ProgramFile
    from spirloom.pte.importer import import_method
    from spirloom.pte.method import instructions
    from spirloom.torch.options import Options

    library, file = OpLibrary(), ProgramFile(path)
    found: list[Call] = []
    for method in filter(instructions, file.program["methods"]):
        for skip in ((), tuple(OPTIMIZATIONS)):
            graph = import_method(file, library, Options(skip=skip), method["name"])
            found += calls(graph)
    return found


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
