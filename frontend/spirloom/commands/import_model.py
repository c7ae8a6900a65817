"""spirloom import: a model file becomes a graph file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codegen.regular_file import writable
from spirloom.commands.model_options import add_model_options, check_options, quantisation_of
from spirloom.commands.model_readers import add_language_options, import_onnx, reader_of
from spirloom.errors import ImportFailure

EPILOG = """\
examples:
  spirloom import resnet18.onnx -o resnet18.slg
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=3
  spirloom import resnet18.onnx -o resnet18.slg --dim batch=1..8
  spirloom import resnet18.onnx -o resnet18.slg --shape input=3,3,224,224 --fp16
  spirloom import decoder.onnx -o decoder.slg --state 'past_*=present_*' --dim past=1..512
  spirloom import resnet18.pte -o resnet18.slg
  spirloom import llama.pt2 -o llama.slg --quantize int4:32 --skip '*lm_head*'
  spirloom import Llama-3.2-1B -o llama.slg --context 4096 --fp16
  spirloom import Qwen3-0.6B-Q8_0.gguf -o qwen.slg --context 4096

With --fp16 weights and computation are float16; inputs and outputs stay as the model has them.
Every node that cannot be imported is listed, and then no file is written.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "import",
        help="import an ONNX model, a program of PyTorch or ExecuTorch, or a language model",
        description="Imports an ONNX model (opset 1 to 23), an archive of torch.export.save, a "
        "program of ExecuTorch, or a language model in GGUF or a folder of Hugging Face, and "
        "writes a graph file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="the model: .onnx, .pt2, .pte, .bpte or .gguf, or a folder with config.json and "
        "safetensors",
    )
    parser.add_argument(
        "--method", metavar="NAME", help="the method of an ExecuTorch program (default: forward)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="MODEL.slg", help="the file to write"
    )
    parser.add_argument("--fp16", action="store_true", help="compute in float16")
    parser.add_argument(
        "--quantize",
        metavar="INT4:GROUP|INT8|BF16",
        type=str.lower,
        help="round the weights of linear layers and embeddings: int4:32, int8:64, int8, or "
        "bf16, bfloat16 in layers that compute in float32",
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="GLOB",
        help="nodes that --quantize leaves alone, by their names",
    )
    add_language_options(parser)
    add_model_options(parser)
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="IN=OUT",
        help="an input and the output that is its next value, a state of the graph (of ONNX); a * "
        "in both stands for the same text: past_*=present_*",
    )
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
    from spirloom.onnx.kv_cache import state_lines
    from spirloom.ops import OpLibrary
    from spirloom.passes import OPTIMIZATIONS
    from spirloom.terminal import Progress

    skipped = OPTIMIZATIONS if arguments.no_optimize else _skipped(arguments.skip_pass)
    check_options(arguments)
    quantisation_of(arguments)
    _check_files(arguments.model, arguments.output)
    library = OpLibrary.with_dirs(arguments.spec_dir)
    storage = None if arguments.storage == "auto" else Storage(arguments.storage)
    read = reader_of(arguments.model)
    if arguments.state and read is not import_onnx:
        raise ImportFailure(
            "--state is for ONNX models; other formats say themselves which buffers runs change."
        )
    with Progress(str(arguments.model)) as progress:
        made = read(arguments, library, skipped, storage, progress)
        progress("writing")
        graph_file.save(made, arguments.output, arguments.external_data)
    for graph in made if isinstance(made, list) else [made]:
        method = f" {graph.name}:" if graph.name else ""
        print(f"{arguments.output}:{method} {summary(graph)}")
        for line in state_lines(graph) if arguments.state else ():
            print(f"  {line}")
    return 0


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
