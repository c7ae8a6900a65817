"""Times a language model in llama.cpp with all layers on ggml's Vulkan device; prints JSON.

    python3 llama_cpp_language.py MODEL.gguf --chunk 512 --prompts 512,4096 --depths 512,4096

Requires the package `cyllama-vulkan`. Counterpart: spirloom_language.py.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from cyllama.llama import llama_cpp as llama

WARM_UP = 1.0  # seconds of work before measurements: an idle GPU has a low clock rate
RUNS = 3
STEPS = 64  # decode steps of a measurement
THREADS = 8  # of operators on the CPU


class Session:
    """A model and its KV cache."""

    def __init__(self, path: Path, context: int, chunk: int) -> None:
        model = llama.LlamaModelParams()
        model.n_gpu_layers = 999
        start = time.perf_counter()
        self._model = llama.LlamaModel(str(path), model)
        params = llama.LlamaContextParams()
        params.n_ctx, params.n_batch, params.n_ubatch = context, chunk, chunk
        params.n_threads = params.n_threads_batch = THREADS
        self._context = llama.LlamaContext(self._model, params)
        self.load_seconds = time.perf_counter() - start
        self._sampler = llama.LlamaSampler(llama.LlamaSamplerChainParams())
        self._sampler.add_greedy()
        self._chunk = chunk
        self._position = 0

    def clear(self) -> None:
        """Empties the KV cache."""
        self._context.kv_cache_clear()
        self._position = 0

    def prefill(self, end: int) -> None:
        """Appends tokens up to a position, and waits for the result."""
        while self._position < end:
            stop = min(self._position + self._chunk, end)
            self._append([i * 37 % 200 for i in range(self._position, stop)])
        self._token()

    def decode(self, steps: int) -> None:
        for _ in range(steps):
            self._append([self._token()])
        self._token()

    def _append(self, tokens: list[int]) -> None:
        self._context.decode(llama.llama_batch_get_one(tokens, self._position))
        self._position += len(tokens)

    def _token(self) -> int:
        return int(self._sampler.sample(self._context, -1))


def seconds(run: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - start


def prefill_rate(session: Session, length: int) -> float:
    """Tokens per second of a prompt."""
    times = []
    for _ in range(RUNS):
        session.clear()
        times.append(seconds(session.prefill, length))
    return length / min(times)


def decode_rates(session: Session, depths: list[int]) -> dict[str, float]:
    """Tokens per second by depth; the cache grows from there in each of the measured runs."""
    found = {}
    session.clear()
    for depth in sorted(depths):
        session.prefill(depth)
        session.decode(2)
        found[str(depth)] = STEPS / min(seconds(session.decode, STEPS) for _ in range(RUNS))
    return found


def warm_up(session: Session, length: int) -> None:
    end = time.monotonic() + WARM_UP
    while True:
        session.clear()
        session.prefill(length)
        if time.monotonic() > end:
            return


def release() -> str:
    for name in ("cyllama-vulkan", "cyllama"):
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            pass
    return "cyllama"


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--chunk", type=int, required=True)
    parser.add_argument("--prompts", type=numbers, required=True)
    parser.add_argument("--depths", type=numbers, required=True)
    arguments = parser.parse_args()
    llama.disable_logging()
    llama.ggml_backend_load_all()
    context = max(*arguments.prompts, *arguments.depths) + (RUNS + 1) * STEPS
    session = Session(arguments.model, context, arguments.chunk)
    warm_up(session, arguments.prompts[0])
    result = {
        "version": release(),
        "load_seconds": session.load_seconds,
        "prefill": {str(n): prefill_rate(session, n) for n in arguments.prompts},
        "decode": decode_rates(session, arguments.depths),
    }
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
