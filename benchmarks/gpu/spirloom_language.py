"""Times a language model in Spirloom; prints JSON.

    python3 spirloom_language.py MODEL.slg --chunk 512 --prompts 512,4096 --depths 512,4096

Requires the package `spirloom`. Counterpart: llama_cpp_language.py. Prompts are processed in runs
of `--chunk` tokens. A depth is the number of tokens in the KV cache before the first decode step.
Decoding is greedy, and its steps are submitted in batches as `spirloom.LLM` submits them; the host
reads the tokens of a batch after it. Times are the minimum of several runs.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import spirloom
from spirloom.llm.language_model import batch_size

WARM_UP = 1.0  # seconds of work before measurements: an idle GPU has a low clock rate
RUNS = 3
STEPS = 64  # decode steps of a measurement


class Session:
    """A model and its KV cache."""

    def __init__(self, path: Path, chunk: int) -> None:
        runtime = spirloom.Runtime()
        start = time.perf_counter()
        self._prefill = runtime.load(path, method="prefill")
        self._decode = self._prefill.context("decode", share_states=True)
        self.load_seconds = time.perf_counter() - start
        self.device = runtime.device.name
        self._chunk = chunk

    def prefill(self, first: int, end: int) -> None:
        """Replaces the tokens of the KV cache from position `first` and waits for the result."""
        self.seek(first)
        for start in range(first, end, self._chunk):
            tokens = np.arange(start, min(start + self._chunk, end), dtype=np.int32) * 37 % 200
            self._prefill(tokens[None])
        self._token()

    def seek(self, position: int) -> None:
        """Sets the position of the next token."""
        self._decode.states["position"] = np.full(1, position, np.int32)

    def decode(self, steps: int) -> None:
        batch = 1
        while steps:
            count, start = min(batch, steps), time.perf_counter()
            self._decode.submit_repeated(count).result()
            self._token()
            batch = batch_size((time.perf_counter() - start) / count)
            steps -= count

    def _token(self) -> int:
        return int(self._decode.states["token"][0])


def seconds(run: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start


def prefill_rate(session: Session, length: int) -> float:
    """Tokens per second of a prompt."""
    return length / min(seconds(session.prefill, 0, length) for _ in range(RUNS))


def decode_rates(session: Session, depths: list[int]) -> dict[str, float]:
    """Tokens per second by depth."""
    found, filled = {}, 0
    for depth in sorted(depths):
        session.prefill(filled, depth)
        filled = depth
        times = []
        for _ in range(RUNS):
            session.seek(depth)
            session.decode(2)
            times.append(seconds(session.decode, STEPS))
        found[str(depth)] = STEPS / min(times)
    return found


def warm_up(session: Session, length: int) -> None:
    end = time.monotonic() + WARM_UP
    session.prefill(0, length)
    while time.monotonic() < end:
        session.prefill(0, length)


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--chunk", type=int, required=True)
    parser.add_argument("--prompts", type=numbers, required=True)
    parser.add_argument("--depths", type=numbers, required=True)
    arguments = parser.parse_args()
    session = Session(arguments.model, arguments.chunk)
    warm_up(session, arguments.prompts[0])
    result = {
        "version": spirloom.__version__,
        "device": session.device,
        "load_seconds": session.load_seconds,
        "prefill": {str(n): prefill_rate(session, n) for n in arguments.prompts},
        "decode": decode_rates(session, arguments.depths),
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
