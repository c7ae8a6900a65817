"""Times a language model of a graph file, as benchmarks/peers/ggml_run.py does its own.

    python -m benchmarks.language_run MODEL.slg --prompt TOKENS --tokens N

prints a JSON object: prompt_seconds, to the first token; reply_seconds, of the tokens behind it,
each the one of the greatest score, which the host sees before the next; tokens; device.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import spirloom


class Text:
    """A model and the one text that it goes on with."""

    def __init__(self, runtime: spirloom.Runtime, path: Path) -> None:
        self._prefill = runtime.load(path, method="prefill")
        self._decode = runtime.load(path, method="decode", shares=self._prefill)

    def read(self, prompt: list[int]) -> int:
        """Begins anew with the prompt; gives the token behind it."""
        self._decode.states["position"] = np.zeros(1, np.int32)
        self._prefill(np.array([prompt], np.int32))
        return self._chosen()

    def step(self) -> int:
        """The next token."""
        self._decode()
        return self._chosen()

    def _chosen(self) -> int:
        return int(self._decode.states["token"][0])


def reply(text: Text, prompt: list[int], count: int) -> dict[str, Any]:
    """Times one text."""
    start = time.perf_counter()
    tokens = [text.read(prompt)]
    middle = time.perf_counter()
    while len(tokens) < count:
        tokens.append(text.step())
    end = time.perf_counter()
    return {"prompt_seconds": middle - start, "reply_seconds": end - middle, "tokens": tokens}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompt", type=json.loads, required=True, help="tokens as JSON")
    parser.add_argument("--tokens", type=int, required=True)
    arguments = parser.parse_args()
    runtime = spirloom.Runtime()
    text = Text(runtime, arguments.model)
    reply(text, arguments.prompt, 2)  # compiles what the next one runs
    found = reply(text, arguments.prompt, arguments.tokens)
    print(json.dumps({**found, "device": runtime.device.name}), flush=True)


if __name__ == "__main__":
    main()
