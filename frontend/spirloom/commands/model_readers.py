"""Reads a model of each supported format for the commands, language models included."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from spirloom.commands.model_options import (
    archive_options,
    arrays_of,
    quantization_of,
    shapes_of,
    symbols_of,
)

if TYPE_CHECKING:
    from spirloom.family import LanguageOptions
    from spirloom.ir import Graph, Storage
    from spirloom.op_library import OpLibrary
    from spirloom.terminal import Report
    from spirloom.torch.options import Options


# Those of spirloom.kv_cache.FORMATS, which would import NumPy.
KV_CACHE_DTYPES = ("f32", "f16", "bf16", "f8_e4m3", "f8_e5m2", "int8", "int4")


def add_language_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options of language models."""
    parser.add_argument(
        "--context",
        type=int,
        metavar="TOKENS",
        help="rows of a language model's KV cache (default: the training context)",
    )
    parser.add_argument(
        "--kv-cache",
        choices=KV_CACHE_DTYPES,
        help="dtype of a language model's KV cache (default: that of activations; "
        "accuracy: page 'Use a KV cache' of the documentation)",
    )
    parser.add_argument(
        "--max-prefill",
        type=int,
        metavar="TOKENS",
        help="maximum tokens of one prefill run of a language model (default: 512)",
    )
    parser.add_argument(
        "--fit",
        nargs="?",
        type=_memory_size,
        const=0,
        metavar="SIZE",
        help="choose the largest context of a language model, up to --context, and the prefill "
        "size for SIZE bytes of device memory, e.g. 6G (default: what is free on the device)",
    )
    parser.add_argument(
        "--max-binding",
        type=int,
        metavar="MIB",
        default=128,
        help="maximum size of one weight buffer of a language model; larger matrices are split "
        "(default: 128, which every device supports; most GPUs support 4095)",
    )


@dataclass(frozen=True, slots=True)
class Request:
    """An import: the arguments of the command, the passes to omit, the storage of all tensors, and
    the receiver of the progress."""

    arguments: argparse.Namespace
    library: OpLibrary
    skipped: Collection[str]
    storage: Storage | None
    report: Report


def import_language_model(request: Request) -> list[Graph]:
    """Imports the methods of a language model: a Hugging Face directory or a GGUF file."""
    from spirloom import gguf, hf
    from spirloom.errors import ImportFailure

    arguments = request.arguments
    if arguments.keep_float32:
        raise ImportFailure(
            "--keep-float32 is for ONNX models and exported programs. The graph of a language "
            "model is built for fp16; without --fp16 it computes in float32."
        )
    request.report("reading weights")
    importer = hf.import_directory if arguments.model.is_dir() else gguf.import_gguf
    options = _language_options(request)

    def log(line: str) -> None:
        print(f"{arguments.model}: {line}", file=sys.stderr)

    if arguments.fit is None:
        return importer(arguments.model, log=log, **options)

    def read(context: int | None, max_prefill: int | None) -> list[Graph]:
        options["context"], options["max_prefill"] = context, max_prefill
        return importer(arguments.model, **options)

    from spirloom.family.fit import fitting

    free = arguments.fit or _free_memory()
    graphs, choice = fitting(read, free, arguments.context, arguments.max_prefill)
    log(choice)
    return graphs


def _memory_size(text: str) -> int:
    """Bytes, with an optional binary unit: 512M, 6G."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    number = text.rstrip("KMGT")
    shift = units.get(text.removeprefix(number), 0)
    if not number.isdecimal() or int(number) == 0 or len(text) - len(number) > 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512M or 6G")
    return int(number) << shift


def _free_memory() -> int:
    from spirloom.runtime.runtime import default_runtime

    return default_runtime().memory["free"]


def _language_options(request: Request) -> LanguageOptions:
    from spirloom.ir import DType

    arguments = request.arguments
    return {
        "context": arguments.context,
        "max_prefill": arguments.max_prefill,
        "kv_cache": arguments.kv_cache,
        "max_binding": arguments.max_binding << 20,
        "dtype": DType.F16 if arguments.fp16 else DType.F32,
        "library": request.library,
        "quantize": quantization_of(arguments),
    }


def import_graph_file(request: Request) -> list[Graph]:
    """Reads the graph file of a language model and changes the dtype of its KV caches."""
    from spec_model.file_kinds import MAX_BYTES, advice
    from spec_model.graph_file import IDENTIFIER
    from spirloom.errors import ImportFailure
    from spirloom.kv_cache import read_with_kv_cache
    from spirloom.mapped_file import starts_with

    arguments = request.arguments
    if not starts_with(arguments.model, IDENTIFIER, 8):
        with arguments.model.open("rb") as file:
            known = advice(file.read(MAX_BYTES), "")
        raise ImportFailure(f"{arguments.model} is not a Spirloom graph.{known}")
    if not arguments.kv_cache:
        raise ImportFailure(
            f"{arguments.model} is a graph file. Only --kv-cache changes one; for other options, "
            "import the model again from its source."
        )
    return read_with_kv_cache(arguments.model, arguments.kv_cache, request.library)


Reader = Callable[[Request], "Graph | list[Graph]"]


def reader_of(model: Path) -> Reader:
    """The reader for the format of a file or directory."""
    from spirloom.gguf import is_gguf
    from spirloom.pte.file import is_program
    from spirloom.torch.archive import is_archive

    if model.is_dir() or is_gguf(model):
        return import_language_model
    if model.suffix == ".slg":
        return import_graph_file
    if is_program(model):
        return import_program
    return import_archive if is_archive(model) else import_onnx


def import_onnx(request: Request) -> Graph:
    """Imports an ONNX model."""
    _refuse_other_formats(request.arguments.model)
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.kv_cache import make_states, preallocate_caches, refuse_growing, state_pairs
    from spirloom.passes import optimize, optimize_sizes
    from spirloom.symbolic.open_graph import import_graph

    arguments, library = request.arguments, request.library
    shapes, fixed = shapes_of(arguments), arrays_of(arguments.constant_input)

    growing: dict[str, str] = {}

    def plain(sizes: Mapping[str, int]) -> Graph:
        return import_model(
            arguments.model,
            library,
            shapes.with_dims(sizes),
            fixed,
            arguments.float64_as_float32,
            max(arguments.constants_limit, 0) << 20,
            request.report,
        )

    def with_states(sizes: Mapping[str, int]) -> Graph:
        graph = plain(sizes)
        growing.update(make_states(graph, state_pairs(arguments.state, graph)))
        if not symbols:
            refuse_growing(graph, growing)
        return graph

    def optimized(graph: Graph) -> Graph:
        optimize(
            graph,
            library,
            arguments.fp16,
            request.skipped,
            request.report,
            quantization_of(arguments),
            sizes_vary=bool(symbols),
            keep_float32=arguments.keep_float32,
        )
        for tensor in graph.tensors():
            tensor.storage = request.storage
        return graph

    symbols = symbols_of(arguments)
    made = import_graph(with_states, optimized, symbols, library)
    if not symbols:
        return made
    graph = preallocate_caches(made, growing, library)
    return optimize_sizes(graph, library, request.skipped)


def _refuse_other_formats(path: Path) -> None:
    """Raises ImportFailure for a known format that is not ONNX, also without the package onnx."""
    from spec_model.file_kinds import MAX_BYTES, advice
    from spec_model.files import open_regular
    from spirloom.errors import ImportFailure, reading

    with reading(path), open_regular(path) as stream:
        known = advice(stream.read(MAX_BYTES), "an ONNX model")
    if known:
        raise ImportFailure(f"{path} is not an ONNX model.{known}")


def import_archive(request: Request) -> Graph:
    """Imports an archive of torch.export.save."""
    from spirloom.torch.archived_program import read_archive
    from spirloom.torch.build import build

    options = replace(_program_options(request), strip=request.arguments.strip)
    program = read_archive(request.arguments.model)
    return build(program, request.library, options, request.storage, request.report)


def import_program(request: Request) -> Graph:
    """Imports an ExecuTorch program."""
    from spirloom.pte.file import ProgramFile
    from spirloom.pte.importer import import_method

    file, method = ProgramFile(request.arguments.model), request.arguments.method
    options = _program_options(request)
    return import_method(file, request.library, options, method, request.storage, request.report)


def _program_options(request: Request) -> Options:
    arguments = request.arguments
    return replace(
        archive_options(arguments),
        fp16=arguments.fp16,
        keep_float32=arguments.keep_float32,
        skip=request.skipped,
        quantize=quantization_of(arguments),
    )
