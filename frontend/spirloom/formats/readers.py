"""Reads a model of each supported format as the methods of a graph file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spirloom.formats.options import Format, ImportOptions

if TYPE_CHECKING:
    from spirloom.family import LanguageOptions
    from spirloom.ir import Array, Graph
    from spirloom.onnx.inputs import Shapes
    from spirloom.op_library import OpLibrary
    from spirloom.terminal import Report
    from spirloom.torch.options import Options


@dataclass(frozen=True, slots=True)
class Request:
    """An import: the model, the options, the operators, and the receivers of the progress and of
    remarks."""

    model: Path
    options: ImportOptions
    library: OpLibrary
    report: Report
    log: Callable[[str], None]


def read_model(request: Request) -> list[Graph]:
    """The methods of a model. Raises ImportFailure."""
    kind = format_of(request.model)
    request.options.check()
    request.options.refuse_unread(kind)
    graphs = READERS[kind](request)
    return graphs if isinstance(graphs, list) else [graphs]


def import_language_model(request: Request) -> list[Graph]:
    """Imports the methods of a language model: a Hugging Face directory or a GGUF file."""
    from spirloom import gguf, hf
    from spirloom.family.fit import fitting

    request.report("reading weights")
    importer = hf.import_directory if request.model.is_dir() else gguf.import_gguf
    chosen, options = request.options, _language_options(request)
    if chosen.fit is None:
        return importer(request.model, log=request.log, **options)

    def read(context: int | None, max_prefill: int | None) -> list[Graph]:
        options["context"], options["max_prefill"] = context, max_prefill
        return importer(request.model, **options)

    free = chosen.fit or _free_memory()
    graphs, choice = fitting(read, free, chosen.context, chosen.max_prefill)
    request.log(choice)
    return graphs


def _free_memory() -> int:
    from spirloom.runtime.runtime import default_runtime

    return default_runtime().memory["free"]


def _language_options(request: Request) -> LanguageOptions:
    from spirloom.ir import DType

    options = request.options
    return {
        "context": options.context,
        "max_prefill": options.max_prefill,
        "kv_cache": options.kv_cache,
        "max_binding": options.max_binding,
        "dtype": DType.F16 if options.fp16 else DType.F32,
        "library": request.library,
        "quantize": options.quantization(),
    }


def import_graph_file(request: Request) -> list[Graph]:
    """Reads the graph file of a language model and changes the dtype of its KV caches."""
    from spec_model.file_kinds import MAX_BYTES, advice
    from spec_model.graph_file import IDENTIFIER
    from spirloom.errors import ImportFailure
    from spirloom.kv_cache import read_with_kv_cache
    from spirloom.mapped_file import starts_with

    model, kv_cache = request.model, request.options.kv_cache
    if not starts_with(model, IDENTIFIER, 8):
        with model.open("rb") as file:
            known = advice(file.read(MAX_BYTES), "")
        raise ImportFailure(f"{model} is not a Spirloom graph.{known}")
    if not kv_cache:
        raise ImportFailure(
            f"{model} is a graph file. Only --kv-cache changes one; for other options, import the "
            "model again from its source."
        )
    return read_with_kv_cache(model, kv_cache, request.library)


def format_of(model: Path) -> Format:
    """The format of a file or directory."""
    from spirloom.gguf import is_gguf
    from spirloom.pte.file import is_program
    from spirloom.torch.archive import is_archive

    if model.is_dir() or is_gguf(model):
        return Format.LANGUAGE_MODEL
    if model.suffix == ".slg":
        return Format.GRAPH_FILE
    if is_program(model):
        return Format.PROGRAM
    return Format.ARCHIVE if is_archive(model) else Format.ONNX


def import_onnx(request: Request) -> Graph:
    """Imports an ONNX model."""
    _refuse_other_formats(request.model)
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.kv_cache import make_states, preallocate_caches, refuse_growing, state_pairs
    from spirloom.passes import optimize, optimize_sizes
    from spirloom.symbolic.open_graph import import_graph

    options, library = request.options, request.library
    shapes, fixed, symbols = shapes_of(options), arrays_of(options), options.symbols()
    growing: dict[str, str] = {}

    def plain(sizes: Mapping[str, int]) -> Graph:
        return import_model(
            request.model,
            library,
            shapes.with_dims(sizes),
            fixed,
            options.float64_as_float32,
            options.constants_limit,
            request.report,
        )

    def with_states(sizes: Mapping[str, int]) -> Graph:
        graph = plain(sizes)
        growing.update(make_states(graph, state_pairs(options.states, graph)))
        if not symbols:
            refuse_growing(graph, growing)
        return graph

    def optimized(graph: Graph) -> Graph:
        optimize(
            graph,
            library,
            options.fp16,
            options.skipped(),
            request.report,
            options.quantization(),
            sizes_vary=bool(symbols),
            keep_float32=options.keep_float32,
        )
        for tensor in graph.tensors():
            tensor.storage = storage
        return graph

    storage = options.tensor_storage()
    made = import_graph(with_states, optimized, symbols, library)
    if not symbols:
        return made
    graph = preallocate_caches(made, growing, library)
    return optimize_sizes(graph, library, options.skipped())


def shapes_of(options: ImportOptions) -> Shapes:
    """The options for inputs of an ONNX model: sizes, shapes, bounds."""
    from spec_model.interval import Interval
    from spirloom.onnx.inputs import Shapes

    return Shapes(
        options.sizes(),
        {name: tuple(shape) for name, shape in options.shapes.items()},
        {name: Interval(*ends) for name, ends in options.ranges.items()},
        options.ignore_stated_shapes,
        options.multiples(),
        options.assume_int32,
    )


def arrays_of(options: ImportOptions) -> dict[str, Array]:
    """The values of inputs that become constants."""
    import numpy as np

    return {name: np.asarray(value) for name, value in options.fixed.items()}


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

    options = program_options(request.options)
    program = read_archive(request.model)
    storage = request.options.tensor_storage()
    return build(program, request.library, options, storage, request.report)


def import_program(request: Request) -> Graph:
    """Imports an ExecuTorch program."""
    from spirloom.pte.file import ProgramFile
    from spirloom.pte.importer import import_method

    file, method = ProgramFile(request.model), request.options.method
    options = program_options(request.options)
    storage = request.options.tensor_storage()
    return import_method(file, request.library, options, method, storage, request.report)


def program_options(options: ImportOptions) -> Options:
    """The options for exported programs. Raises ImportFailure."""
    from spec_model.interval import Interval
    from spirloom.errors import ImportFailure
    from spirloom.torch.options import Options

    for name in options.multiples():
        raise ImportFailure(
            f"--dim {name}: dimensions that equal or are multiples of others are for ONNX models. "
            "torch.export has them in dynamic_shapes."
        )
    return Options(
        sizes=options.sizes(),
        symbols={symbol.name: symbol for symbol in options.symbols()},
        ranges={name: Interval(*ends) for name, ends in options.ranges.items()},
        fp16=options.fp16,
        keep_float32=options.keep_float32,
        skip=options.skipped(),
        float64_as_float32=options.float64_as_float32,
        assume_int32=options.assume_int32,
        constants_limit=options.constants_limit,
        fixed=arrays_of(options),
        strip=options.strip,
        quantize=options.quantization(),
    )


READERS: Mapping[Format, Callable[[Request], Graph | list[Graph]]] = {
    Format.ONNX: import_onnx,
    Format.ARCHIVE: import_archive,
    Format.PROGRAM: import_program,
    Format.LANGUAGE_MODEL: import_language_model,
    Format.GRAPH_FILE: import_graph_file,
}
