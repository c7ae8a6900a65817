#!/usr/bin/env python3
"""Continues a sentence in the style of Jane Austen with a language model on Vulkan (`./dev demo`).

Requires only NumPy and Spirloom. The model is story.slg, written by train.py and `spirloom import`.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import spirloom

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from examples.story.tokenizer import Tokenizer  # noqa: E402
from spec_model.output_errors import handle_output_errors  # noqa: E402

MODEL = HERE / "story.slg"
BEGINNING = "It was a truth which Emma had never acknowledged, that"
WIDTH = 92  # characters per line


def read_tokenizer() -> Tokenizer:
    """Reads the tokenizer from the attachment of the model file."""
    with spirloom.load(MODEL) as model:
        return Tokenizer.read(model.attachments["tokenizer.json"].decode())


class Lines:
    """Prints text word by word, in lines of at most WIDTH characters."""

    def __init__(self) -> None:
        self._column = 0
        self._word = ""

    def add(self, text: str) -> None:
        """Prints the complete words of `text` and keeps the last, incomplete word."""
        for character in text:
            if character in " \n":
                self.end_word()
                if character == "\n":
                    self._print("\n")
                    self._column = 0
            else:
                self._word += character

    def end_word(self) -> None:
        """Prints the kept word."""
        if not self._word:
            return
        if self._column and self._column + 1 + len(self._word) > WIDTH:
            self._print("\n")
            self._column = 0
        self._print((" " if self._column else "") + self._word)
        self._column += bool(self._column) + len(self._word)
        self._word = ""

    @staticmethod
    def _print(text: str) -> None:
        print(text, end="", flush=True)


@handle_output_errors
def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("beginning", nargs="?", default=BEGINNING, help="default: %(default)s")
    parser.add_argument("--tokens", type=int, default=140, help="default: %(default)s")
    parser.add_argument("--temperature", type=float, default=0.7, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=3, help="default: %(default)s")
    arguments = parser.parse_args()
    try:
        generate(arguments)
    except spirloom.SpirloomError as error:
        print(f"generate: {error}", file=sys.stderr)
        return 1
    return 0


def generate(arguments: argparse.Namespace) -> None:
    """Prints the generated text and the throughput."""
    model = spirloom.LLM(MODEL, tokenizer=read_tokenizer())
    pieces = model.generate(
        arguments.beginning,
        tokens=arguments.tokens,
        temperature=arguments.temperature,
        top_k=40,
        seed=arguments.seed,
    )
    lines = Lines()
    lines.add(arguments.beginning)
    began = time.perf_counter()
    for piece in pieces:
        lines.add(piece)
    lines.end_word()
    took = time.perf_counter() - began
    size = MODEL.stat().st_size / 1e6
    print(
        f"\n\n{arguments.tokens} tokens in {took:.2f} s on {spirloom.Runtime().device.name}. The "
        f"network ({size:.1f} MB) was trained on the novels of Jane Austen."
    )


if __name__ == "__main__":
    sys.exit(main())
