"""spirloom import: a model file becomes a graph file."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegen.regular_file import open_regular, writable
from spirloom.errors import ImportFailure

if TYPE_CHECKING:
    from spirloom.interval import Interval
    from spirloom.ir import Array, Graph, Storage
    from spirloom.onnx.inputs import Shapes
    from spirloom.ops import OpLibrary
    from spirloom.sizes import Symbol
    from spirloom.torch.options import Options

EPILOG = """\
examples:
  spirloom import resnet18.onnx -o resnet18.slg
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=3
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=1..8
  spirloom import resnet18.onnx -o resnet18.slg --shape input=3,3,224,224 --fp16

With --fp16 weights and computation are float16; inputs and outputs stay as the model has them.
Every node that cannot be imported is listed, and then no file is written.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "import",
        help="import an ONNX model or an exported program of PyTorch",
        description="Imports an ONNX model (opset 1 to 23) or an archive of torch.export.save, and "
        "writes a graph file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="the model: .onnx or .pt2")
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


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what a model's file leaves open."""
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="the size of an open dimension; LEAST..GREATEST leaves it to each run",
    )
    parser.add_argument(
        "--shape", action="append", default=[], metavar="INPUT=N,N,…", help="the shape of an input"
    )
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="INPUT=LOW..HIGH",
        help="the whole numbers between which an input lies",
    )
    parser.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="INPUT=FILE.npy",
        help="make an input the constant in a NumPy file",
    )
    parser.add_argument(
        "--float64-as-float32",
        action="store_true",
        help="accept that what the model computes in float64 is rounded to float32",
    )
    parser.add_argument(
        "--constants-limit",
        type=int,
        default=1024,
        metavar="MIB",
        help="memory for constants that are computed at import, beyond eight times that of the "
        "model (default: %(default)s)",
    )
    parser.add_argument(
        "--spec-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder of operator specs of your own, which nodes of the same name become",
    )


def run(arguments: argparse.Namespace) -> int:
    """Imports, optimises, writes, and says what was done."""
    from spirloom import graph_file
    from spirloom.inspect import summary
    from spirloom.ir import Storage
    from spirloom.onnx.importer import import_model
    from spirloom.ops import OpLibrary
    from spirloom.passes import OPTIMIZATIONS, optimize
    from spirloom.progress import Progress
    from spirloom.torch.archive import is_archive
    from spirloom.varying.generalize import generalize

    skipped = OPTIMIZATIONS if arguments.no_optimize else _skipped(arguments.skip_pass)
    shapes = shapes_of(arguments)
    symbols = symbols_of(arguments)
    fixed = fixed_of(arguments.fix)
    _check_output(arguments.model, arguments.output)
    library = OpLibrary.with_dirs(arguments.spec_dir)
    storage = None if arguments.storage == "auto" else Storage(arguments.storage)
    if is_archive(arguments.model):
        graph = _import_archive(arguments, library, skipped, storage)
        graph_file.save(graph, arguments.output, arguments.external_data)
        print(f"{arguments.output}: {summary(graph)}")
        return 0

    def make(sizes: Mapping[str, int]) -> Graph:
        sized = replace(shapes, dims={**shapes.dims, **sizes})
        graph = import_model(
            arguments.model,
            library,
            sized,
            fixed,
            arguments.float64_as_float32,
            max(arguments.constants_limit, 0) << 20,
            progress,
        )
        optimize(graph, library, fp16=arguments.fp16, skip=skipped, report=progress)
        for tensor in graph.tensors():
            tensor.storage = storage
        return graph

    with Progress(str(arguments.model)) as progress:
        graph = generalize(make, symbols, library) if symbols else make({})
        progress("writing")
        graph_file.save(graph, arguments.output, arguments.external_data)
    print(f"{arguments.output}: {summary(graph)}")
    return 0


def _import_archive(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
) -> Graph:
    """The graph of an archive of torch.export.save."""
    from spirloom.torch.archived import read_archive
    from spirloom.torch.build import build

    options = replace(archive_options(arguments), fp16=arguments.fp16, skip=skipped)
    return build(read_archive(arguments.model), library, options, storage)


def archive_options(arguments: argparse.Namespace) -> Options:
    """What is said of an archive of torch.export.save."""
    from spirloom.torch.options import Options

    if arguments.shape or arguments.fix:
        raise ImportFailure(
            "--shape and --fix are for ONNX models; an exported program has its sizes and "
            "constants, but for those that --dim chooses."
        )
    shapes = shapes_of(arguments)
    return Options(
        sizes=shapes.dims,
        symbols={symbol.name: symbol for symbol in symbols_of(arguments)},
        ranges=shapes.ranges,
        float64_as_float32=arguments.float64_as_float32,
        constants_limit=max(arguments.constants_limit, 0) << 20,
    )


def _check_output(model: Path, output: Path) -> None:
    """Refuses, before the work of importing, what cannot be written or would destroy the model."""
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


def shapes_of(arguments: argparse.Namespace) -> Shapes:
    """What is said of inputs: fixed sizes, shapes, bounds."""
    from spirloom.onnx.inputs import Shapes

    dims = {
        name: _sizes(text, "--dim") for name, text in map(_pair, arguments.dim) if ".." not in text
    }
    inputs = {name: _sizes(text, "--shape") for name, text in map(_pair, arguments.shape)}
    for name, sizes in dims.items():
        if len(sizes) != 1:
            raise ImportFailure(f"--dim {name} wants one number, not {len(sizes)}.")
    ranges = {name: _range(text) for name, text in map(_pair, arguments.range)}
    return Shapes({name: sizes[0] for name, sizes in dims.items()}, inputs, ranges)


def symbols_of(arguments: argparse.Namespace) -> list[Symbol]:
    """The dimensions that stay open between bounds."""
    from spirloom.sizes import Symbol

    symbols: dict[str, Symbol] = {}
    for name, text in map(_pair, arguments.dim):
        if ".." not in text:
            continue
        low, _, high = text.partition("..")
        ends = [int(end) for end in (low, high) if end.isdecimal()]
        if len(ends) != 2 or not 1 <= ends[0] < ends[1]:
            raise ImportFailure(
                f"--dim {name} wants bounds from 1 on, LEAST..GREATEST with LEAST below GREATEST, "
                f"not '{text}'."
            )
        symbols[name] = Symbol(name, ends[0], ends[1])
    return list(symbols.values())


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise ImportFailure(f"'{text}' is not of the form NAME=VALUE.")
    return name, value


def _range(text: str) -> Interval:
    from spirloom.interval import Interval

    low, dots, high = text.partition("..")
    try:
        found = Interval(int(low), int(high))
    except ValueError:
        found = None
    if found is None or not dots or found.low > found.high:
        raise ImportFailure(f"--range wants two whole numbers, LOW..HIGH, not '{text}'.")
    return found


def fixed_of(texts: Sequence[str]) -> dict[str, Array]:
    """The arrays that inputs are fixed to."""
    import numpy as np

    fixed = {}
    for name, file in map(_pair, texts):
        try:
            with open_regular(Path(file)) as stream:
                loaded = np.load(stream, allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ImportFailure(f"Cannot read {file} as a NumPy array: {reason}.") from error
        if not isinstance(loaded, np.ndarray):
            raise ImportFailure(f"{file} holds several arrays; --fix wants a .npy file with one.")
        fixed[name] = loaded
    return fixed


def _sizes(text: str, option: str) -> tuple[int, ...]:
    parts = text.replace("x", ",").split(",") if text else []
    if not all(part.strip().isdecimal() for part in parts):
        raise ImportFailure(f"{option} wants numbers that are not negative, not '{text}'.")
    return tuple(int(part) for part in parts)
