"""spirloom import: converts a model to a graph file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spec_model.files import open_regular
from spirloom.commands.model_options import add_language_options, add_model_options, options_of
from spirloom.errors import ImportFailure, reading
from spirloom.formats.output_files import check_output

if TYPE_CHECKING:
    from spirloom.formats.options import ImportOptions
    from spirloom.ir import Graph
    from spirloom.op_library import OpLibrary
    from spirloom.terminal import Report

EPILOG = """\
examples:
  spirloom import resnet18.onnx -o resnet18.slg
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=3
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=1..8
  spirloom import resnet18.onnx -o resnet18.slg --shape input=3,3,224,224 --fp16
  spirloom import decoder.onnx -o decoder.slg --state 'past_*=present_*' --dim past=1..512
  spirloom import resnet18.pte -o resnet18.slg
  spirloom import llama.pt2 -o llama.slg --quantize int4:32 --quantize-skip '*lm_head*'
  spirloom import Llama-3.2-1B -o llama.slg --context 4096 --fp16
  spirloom import Qwen3-0.6B-Q8_0.gguf -o qwen.slg --context 4096 --kv-cache int8
  spirloom import qwen.slg -o qwen_int4.slg --kv-cache int4

With --fp16, weights and computation are float16; inputs and outputs keep their dtypes. The nodes
that stay float32 are listed with reasons.
If nodes cannot be imported, all of them are listed and no file is written.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "import",
        help="import an ONNX model, a PyTorch or ExecuTorch program, or a language model",
        description="Imports an ONNX model (opset 1 to 26), an archive of torch.export.save, an "
        "ExecuTorch program, or a language model (GGUF file or Hugging Face directory), and writes "
        "a graph file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="the model: .onnx, .pt2, .pte, .bpte or .gguf, or a directory with config.json and "
        "safetensors; with --kv-cache also .slg",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="MODEL.slg",
        help="the file to write (default: the name of the model with the suffix .slg, in the "
        "current directory)",
    )  # fmt: skip
    parser.add_argument(
        "--external-data",
        action="store_true",
        help="store the constants in a separate file, MODEL.slg.data",
    )
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="also store the content of a file, such as class names, under this name: "
        "model.attachments in Python",
    )
    parser.add_argument(
        "--check-import",
        action="store_true",
        help="compare the results of the imported model with those of the operators' references, "
        "for random inputs: at the smallest, an odd and the largest of its dynamic sizes, and "
        "whether int64 values fit the int32 that replaces them. Takes minutes for large models",
    )
    add_import_options(parser)
    parser.set_defaults(run=run)


def add_import_options(parser: argparse._ActionsContainer) -> None:
    """Adds the options that change the imported graph, for all commands that import a model."""
    parser.add_argument(
        "--method", metavar="NAME", help="the method of an ExecuTorch program (default: forward)"
    )
    parser.add_argument(
        "--fp16",
        action="store_true",
        help="compute in float16, except where values may leave its range (page 'Use fp16' of the "
        "documentation)",
    )
    parser.add_argument(
        "--keep-float32",
        action="append",
        default=[],
        metavar="GLOB",
        help="names of nodes that stay float32 with --fp16; a fused node also has the names of its "
        "sources",
    )
    parser.add_argument(
        "--quantize",
        metavar="INT4:GROUP|INT8|BF16",
        type=str.lower,
        help="quantize the weights of linear layers and embeddings: int4:32, int8:64, int8, or "
        "bf16 (bfloat16 weights with float32 activations)",
    )
    parser.add_argument(
        "--quantize-skip",
        action="append",
        default=[],
        metavar="GLOB",
        help="names of nodes that --quantize skips",
    )
    add_language_options(parser)
    add_model_options(parser)
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="IN=OUT",
        help="make a state of an input and the output that is its next value (ONNX); a * in both "
        "matches the same text: past_*=present_*",
    )
    parser.add_argument(
        "--storage",
        choices=["auto", "buffer", "texture3d", "texture2d"],
        default="auto",
        help="the requested storage of all tensors; auto: chosen by the runtime (default: auto)",
    )
    parser.add_argument(
        "--strip",
        action="store_true",
        help="omit the source locations of nodes (PyTorch)",
    )
    parser.add_argument("--no-optimize", action="store_true", help="skip all optimization passes")
    parser.add_argument(
        "--passes",
        type=Path,
        action="append",
        default=[],
        metavar="FILE.py",
        help="run this Python file first, which adds passes by spirloom.passes.register_pass",
    )
    parser.add_argument(
        "--skip-pass",
        action="append",
        default=[],
        metavar="NAME",
        help="skip one optimization pass, for example to find the one that changes a result",
    )
    parser.add_argument(
        "--dump-passes",
        type=Path,
        metavar="DIR",
        help="write the graph after each pass that changes it to a text file of this directory",
    )


def run(arguments: argparse.Namespace) -> int:
    """Imports, optimizes and writes the model. Prints a summary."""
    from spirloom import graph_file
    from spirloom.garbage import rare_collections
    from spirloom.inspect import summary
    from spirloom.onnx.kv_cache import state_lines
    from spirloom.op_library import OpLibrary
    from spirloom.passes.fp16 import float32_lines
    from spirloom.passes.observers import dumping
    from spirloom.symbolic.import_check import checking_imports
    from spirloom.terminal import Progress

    options = checked_options(arguments)
    if arguments.output is None:
        model = arguments.model.absolute()
        arguments.output = Path(f"{model.name if model.is_dir() else model.stem}.slg")
    check_output("-o", arguments.model, arguments.output)
    attachments = _attachments(arguments.attach)
    library = OpLibrary.with_dirs(arguments.spec_dir)
    watched = Progress(str(arguments.model))
    with ExitStack() as stack:
        progress = stack.enter_context(watched)
        stack.enter_context(dumping(arguments.dump_passes))
        stack.enter_context(rare_collections())
        check = stack.enter_context(checking_imports(progress)) if arguments.check_import else None
        graphs = import_graphs(arguments.model, options, library, progress)
        graph_file.attach(graphs, attachments)
        graph_file.save(graphs, arguments.output, arguments.external_data, progress)
    for graph in graphs:
        method = f" {graph.name}:" if graph.name else ""
        print(f"{arguments.output}:{method} {summary(graph)}")
        for line in state_lines(graph) if arguments.state else ():
            print(f"  {line}")
        for line in float32_lines(graph, arguments.keep_float32) if arguments.fp16 else ():
            print(f"  {line}")
    for line in check.lines if check is not None else ():
        print(f"  {line}")
    return 0


def checked_options(arguments: argparse.Namespace) -> ImportOptions:
    """The options of add_import_options(). Raises ImportFailure for invalid ones, before a file is
    read.
    """
    options = options_of(arguments)
    if options.passes:
        from spirloom.passes.files import add_passes_of

        for path in options.passes:
            add_passes_of(Path(path))
    options.check()
    return options


def import_graphs(
    model: Path, options: ImportOptions, library: OpLibrary, report: Report
) -> list[Graph]:
    """The methods of a model. Remarks go to stderr."""
    from spirloom.formats.readers import Request, read_model

    def log(line: str) -> None:
        print(f"{model}: {line}", file=sys.stderr)

    return read_model(Request(model, options, library, report, log))


def _attachments(texts: Sequence[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for text in texts:
        name, _, file = text.partition("=")
        if not name or not file:
            raise ImportFailure(f"--attach must be NAME=FILE, not '{text}'.")
        with reading(Path(file)), open_regular(Path(file)) as stream:
            found[name] = stream.read()
    return found
