"""spirloom inspect: describes a graph file or an ExecuTorch program."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

EPILOG = """\
examples:
  spirloom inspect resnet18.slg
  spirloom inspect resnet18.slg --nodes
  spirloom inspect resnet18.slg --json | jq .memory
  spirloom inspect resnet18.pte

The memory plan is for buffers on any device. spirloom-run prints the memory use of a device.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "inspect",
        help="describe a graph file or an ExecuTorch program",
        description="Prints the inputs, outputs, operators and memory of a graph file, or the "
        "methods, delegates, constants and state of an ExecuTorch program.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "graph", type=Path, metavar="MODEL.slg", help="the graph file, or a .pte or .bpte"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; sizes in bytes")
    parser.add_argument("--nodes", action="store_true", help="also list every node")
    parser.add_argument(
        "--check", action="store_true", help="read all constants and check their digest"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the description."""
    from spirloom.pte.file import is_program

    return (_program if is_program(arguments.graph) else _graph)(arguments)


def _program(arguments: argparse.Namespace) -> int:
    from spirloom.pte.describe import describe, to_text
    from spirloom.pte.file import ProgramFile

    file = ProgramFile(arguments.graph)
    print(json.dumps(describe(file), indent=2) if arguments.json else to_text(file))
    return 0


def _graph(arguments: argparse.Namespace) -> int:
    from spirloom import graph_reader, inspect
    from spirloom.op_library import OpLibrary

    graphs = graph_reader.load_methods(arguments.graph, arguments.check)
    library = OpLibrary()
    if arguments.json:
        described = [inspect.describe(graph, library) for graph in graphs]
        print(json.dumps(described[0] if len(graphs) == 1 else {"methods": described}, indent=2))
    else:
        texts = (inspect.to_text(graph, library, nodes=arguments.nodes) for graph in graphs)
        print("\n\n".join(texts))
    return 0
