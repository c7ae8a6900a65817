"""spirloom run MODEL.gguf: generates text with a language model that is imported on first use."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spirloom.commands.model_readers import KV_CACHE_DTYPES

if TYPE_CHECKING:
    from spirloom.llm import LLM

EPILOG = """\
Without a prompt, a chat on the terminal: one line per message, Ctrl-D ends it. The model is
imported to ~/.cache/spirloom/models on first use. `spirloom import` has more options, such as
--quantize.
"""


def is_text_model(arguments: Sequence[str]) -> bool:
    """Whether the arguments of `spirloom run` start with a GGUF file or a model directory."""
    from spirloom.llm.import_cache import is_source

    return bool(arguments) and is_source(Path(arguments[0]))


def generate(arguments: Sequence[str]) -> int:
    """Prints the continuation of a prompt, or the replies of a chat, as they are generated."""
    from spirloom.llm import LLM
    from spirloom.runtime.runtime import Runtime

    options = _parser().parse_args(arguments)
    runtime = Runtime(options.device)
    llm = LLM(
        options.model,
        runtime=runtime,
        context=options.context,
        kv_cache=options.kv_cache,
        reuse=True,
    )
    if options.prompt is None:
        return _chat(llm, options)
    how = {"temperature": options.temperature, "seed": options.seed}
    _print(llm.generate(options.prompt, tokens=options.tokens, **how))
    return 0


def _chat(llm: LLM, options: argparse.Namespace) -> int:
    messages: list[dict[str, str]] = []
    while True:
        if sys.stdin.isatty():
            print("> ", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            return 0
        messages.append({"role": "user", "content": line.rstrip("\n")})
        how = {"temperature": options.temperature, "seed": options.seed}
        reply = _print(llm.chat(messages, tokens=options.tokens, **how))
        messages.append({"role": "assistant", "content": reply})


def _print(pieces: Iterable[str]) -> str:
    text = ""
    for piece in pieces:
        text += piece
        print(piece, end="", flush=True)
    print()
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spirloom run", description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("model", type=Path, metavar="MODEL", help="a GGUF file or a directory")
    parser.add_argument("-p", "--prompt", metavar="TEXT", help="the text to continue")
    parser.add_argument("--tokens", type=int, default=256, help="new tokens (default: %(default)s)")
    parser.add_argument(
        "--context",
        type=int,
        metavar="TOKENS",
        help="rows of the KV caches (default: the training context, at most 4096)",
    )
    parser.add_argument(
        "--kv-cache",
        choices=KV_CACHE_DTYPES,
        help="dtype of the KV caches (default: that of activations)",
    )
    parser.add_argument(
        "--temperature", type=float, default=0.0, help="0: greedy decoding (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, help="seed of sampling (default: random)")
    parser.add_argument("--device", help="a device's index, id or part of its name")
    return parser
