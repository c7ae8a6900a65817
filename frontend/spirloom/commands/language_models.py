"""The part of `spirloom import` that language models have: their options, and what reads them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from spirloom.commands.model_options import quantisation_of

if TYPE_CHECKING:
    from spirloom.ir import Graph, Storage
    from spirloom.ops import OpLibrary
    from spirloom.progress import Report


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
