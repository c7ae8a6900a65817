"""Reads a model of each supported format for the commands, language models included."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.commands.model_options import (
    archive_options,
    fixed_of,
    quantisation_of,
    shapes_of,
    symbols_of,
)

if TYPE_CHECKING:
    from spirloom.ir import Graph, Storage
    from spirloom.ops import OpLibrary
    from spirloom.terminal import Report


def add_language_options(parser: argparse.ArgumentParser) -> None:
    """Adds what is said of the caches."""
    parser.add_argument(
        "--context",
        type=int,
        metavar="TOKENS",
        help="how many tokens the caches of a language model hold (default: as it was trained)",
    )
    parser.add_argument(
        "--prompt",
        type=int,
        metavar="TOKENS",
        help="how many of them one run of its prefill may take (default: 512)",
    )
    parser.add_argument(
        "--largest-weight",
        type=int,
        metavar="MIB",
        default=128,
        help="how large a weight or table of it may be for one kernel to bind, else it is computed "
        "in parts (default: 128 MiB, which every device takes; most GPUs take 4095)",
    )


def import_folder(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> list[Graph]:
    """The methods of a language model in a folder of Hugging Face."""
    from spirloom import hf

    report("reading weights")
    return hf.import_folder(arguments.model, library=library, **_language_options(arguments))


def import_gguf(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> list[Graph]:
    """The methods of a language model in a GGUF file."""
    from spirloom import gguf

    report("reading weights")
    return gguf.import_gguf(arguments.model, library=library, **_language_options(arguments))


def _language_options(arguments: argparse.Namespace) -> dict[str, Any]:
    from spirloom.ir import DType

    return {
        "context": arguments.context,
        "prompt": arguments.prompt,
        "largest": arguments.largest_weight << 20,
        "dtype": DType.F16 if arguments.fp16 else DType.F32,
        "quantize": quantisation_of(arguments),
        "tell": lambda line: print(f"{arguments.model}: {line}", file=sys.stderr),
    }


Reader = Callable[..., "Graph | list[Graph]"]


def reader_of(model: Path) -> Reader:
    """What imports a file, by what the file holds."""
    from spirloom.gguf import is_gguf
    from spirloom.pte.file import is_program
    from spirloom.torch.archive import is_archive

    if model.is_dir():
        return import_folder
    if is_gguf(model):
        return import_gguf
    if is_program(model):
        return import_program
    return import_archive if is_archive(model) else import_onnx


def import_onnx(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> Graph:
    """The graph of an ONNX model."""
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.kv_cache import fix_growing_caches, hold_states, pairs_of, refuse_fixed
    from spirloom.passes import optimize, optimize_sizes
    from spirloom.varying.generalize import generalize

    shapes, fixed = shapes_of(arguments), fixed_of(arguments.fix)

    growing: dict[str, str] = {}

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
        growing.update(hold_states(graph, pairs_of(arguments.state, graph)))
        if not symbols:
            refuse_fixed(graph, growing)
        optimize(
            graph,
            library,
            arguments.fp16,
            skipped,
            report,
            quantisation_of(arguments),
            sizes_vary=bool(symbols),
        )
        for tensor in graph.tensors():
            tensor.storage = storage
        return graph

    symbols = symbols_of(arguments)
    if not symbols:
        return make({})
    grown = fix_growing_caches(generalize(make, symbols, library), growing, library)
    return optimize_sizes(grown, library, skipped)


def import_archive(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> Graph:
    """The graph of an archive of torch.export.save."""
    from spirloom.torch.archived_program import read_archive
    from spirloom.torch.build import build

    options = replace(
        archive_options(arguments),
        fp16=arguments.fp16,
        skip=skipped,
        strip=arguments.strip,
        quantize=quantisation_of(arguments),
    )
    return build(read_archive(arguments.model), library, options, storage, report)


def import_program(
    arguments: argparse.Namespace,
    library: OpLibrary,
    skipped: Collection[str],
    storage: Storage | None,
    report: Report,
) -> Graph:
    """The graph of a program of ExecuTorch."""
    from spirloom.pte.file import ProgramFile
    from spirloom.pte.importer import import_method

    options = replace(
        archive_options(arguments),
        fp16=arguments.fp16,
        skip=skipped,
        quantize=quantisation_of(arguments),
    )
    file = ProgramFile(arguments.model)
    return import_method(file, library, options, arguments.method, storage, report)
