"""spirloom import: a model file becomes a graph file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegen.regular_file import writable
from spirloom.commands.model_options import (
    add_model_options,
    archive_options,
    check_options,
    fixed_of,
    shapes_of,
    symbols_of,
)
from spirloom.errors import ImportFailure

if TYPE_CHECKING:
    from spirloom.ir import Graph, Storage
    from spirloom.ops import OpLibrary
    from spirloom.progress import Report

Reader = Callable[..., "Graph"]

EPILOG = """\
examples:
  spirloom import resnet18.onnx -o resnet18.slg
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=3
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=1..8
  spirloom import resnet18.onnx -o resnet18.slg --shape input=3,3,224,224 --fp16
  spirloom import resnet18.pte -o resnet18.slg

With --fp16 weights and computation are float16; inputs and outputs stay as the model has them.
Every node that cannot be imported is listed, and then no file is written.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "import",
        help="import an ONNX model, an exported program of PyTorch or one of ExecuTorch",
        description="Imports an ONNX model (opset 1 to 23), an archive of torch.export.save or a "
        "program of ExecuTorch, and writes a graph file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="the model: .onnx, .pt2, .pte or .bpte"
    )
    parser.add_argument(
        "--method", metavar="NAME", help="the method of an ExecuTorch program (default: forward)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="MODEL.slg", help="the file to write"
    )
    parser.add_argument("--fp16", action="store_true", help="compute in float16")
    add_model_options(parser)
    parser.add_argument(
        "--storage",
        choices=["auto", "buffer", "texture3d", "texture2d"],
        default="auto",
        help="where the tensors ask to live; auto leaves it to the runtime",
    )
    parser.add_argument(
        "--external-data",
        action="store_true",
        help="put the constants in a file beside the graph, MODEL.slg.data",
    )
    parser.add_argument(
        "--strip",
        action="store_true",
        help="leave out the lines of the model's code that nodes come from (of PyTorch)",
    )
    parser.add_argument(
        "--no-optimize", action="store_true", help="keep the nodes as the model has them"
    )
    parser.add_argument(
        "--skip-pass",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out one optimisation, e.g. to find the one that a result depends on",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Imports, optimises, writes, and says what was done."""
    from spirloom import graph_file
    from spirloom.inspect import summary
    from spirloom.ir import Storage
    from spirloom.ops import OpLibrary
    from spirloom.passes import OPTIMIZATIONS
    from spirloom.progress import Progress

    skipped = OPTIMIZATIONS if arguments.no_optimize else _skipped(arguments.skip_pass)
    check_options(arguments)
    _check_files(arguments.model, arguments.output)
    library = OpLibrary.with_dirs(arguments.spec_dir)
    storage = None if arguments.storage == "auto" else Storage(arguments.storage)
    read = _reader(arguments.model)
    with Progress(str(arguments.model)) as progress:
        graph = read(arguments, library, skipped, storage, progress)
        progress("writing")
        graph_file.save(graph, arguments.output, arguments.external_data)
    print(f"{arguments.output}: {summary(graph)}")
    return 0


def _reader(model: Path) -> Reader:
    """What imports a file, by what the file holds."""
    from spirloom.pte.file import is_program
    from spirloom.torch.archive import is_archive

    if is_program(model):
        return _import_program
    return _import_archive if is_archive(model) else _import_onnx


def _import_onnx(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> Graph:
    """The graph of an ONNX model."""
    from spirloom.onnx.importer import import_model
    from spirloom.passes import optimize
    from spirloom.varying.generalize import generalize

    shapes, fixed = shapes_of(arguments), fixed_of(arguments.fix)

    def make(sizes: Mapping[str, int]) -> Graph:
        sized = replace(shapes, dims={**shapes.dims, **sizes})
        graph = import_model(
            arguments.model,
            library,
            sized,
            fixed,
            arguments.float64_as_float32,
            max(arguments.constants_limit, 0) << 20,
            report,
        )
        optimize(graph, library, fp16=arguments.fp16, skip=skipped, report=report)
        for tensor in graph.tensors():
            tensor.storage = storage
        return graph

    symbols = symbols_of(arguments)
    return generalize(make, symbols, library) if symbols else make({})


def _import_archive(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> Graph:
    """The graph of an archive of torch.export.save."""
    from spirloom.torch.archived import read_archive
    from spirloom.torch.build import build

    options = replace(
        archive_options(arguments), fp16=arguments.fp16, skip=skipped, strip=arguments.strip
    )
    return build(read_archive(arguments.model), library, options, storage, report)


def _import_program(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> Graph:
    """The graph of a program of ExecuTorch."""
    from spirloom.pte.file import ProgramFile
    from spirloom.pte.importer import import_method

    options = replace(archive_options(arguments), fp16=arguments.fp16, skip=skipped)
    file = ProgramFile(arguments.model)
    return import_method(file, library, options, arguments.method, storage, report)


def _check_files(model: Path, output: Path) -> None:
    """Refuses, before the work of importing, what cannot be written or would destroy the model."""
    if not model.exists():
        raise ImportFailure(f"Cannot read {model}: No such file or directory.")
    if output.is_dir():
        raise ImportFailure(f"{output} is a folder; -o wants the name of the file to write.")
    if not output.parent.is_dir():
        raise ImportFailure(f"Cannot write {output}: there is no folder {output.parent}.")
    try:
        writable(output)
    except OSError as error:
        raise ImportFailure(f"Cannot write {output}: {error.strerror}.") from error
    if output.exists() and model.exists() and output.samefile(model):
        raise ImportFailure(f"-o names the model itself, {model}; give the graph another name.")


def _skipped(names: Sequence[str]) -> Sequence[str]:
    from spirloom.passes import OPTIMIZATIONS

    for name in names:
        if name not in OPTIMIZATIONS:
            known = ", ".join(OPTIMIZATIONS)
            raise ImportFailure(f"--skip-pass {name}: there is no such pass, only {known}.")
    return names
