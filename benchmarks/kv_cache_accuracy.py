"""Measures how the dtype of the KV cache changes a language model's predictions.

    python -m benchmarks.kv_cache_accuracy [MODEL.slg] [--texts N] [--tokens N]

The model itself writes N texts (temperature 1, seeds 0 to N - 1, KV cache of fp32). It then reads
them token by token with each dtype. Prints a Markdown table: bytes per token and layer; perplexity;
mean Kullback-Leibler divergence from the predictions with fp32; the share of predictions with the
same most likely token; for the method `decode`, and the divergence for `prefill`.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import spirloom
from spirloom import graph_file
from spirloom.kv_cache import FORMATS, KvCache, kv_cache_of, read_with_kv_cache
from spirloom.llm import Sampling
from spirloom.op_library import own_library

from examples.story.generate import BEGINNING, MODEL, read_tokenizer

Logits = npt.NDArray[np.float64]
# Tokens of a prefill run: kernels of many queries.
CHUNK = 16


def model_with(model: Path, dtype: str, folder: Path) -> tuple[Path, KvCache]:
    """A copy of the model whose KV cache has this dtype."""
    methods, path = read_with_kv_cache(model, dtype, own_library()), folder / f"{dtype}.slg"
    graph_file.save(methods, path)
    cache = kv_cache_of(methods[0], own_library())
    assert cache is not None
    return path, cache


def log_probabilities(logits: Sequence[npt.NDArray[np.float32]]) -> Logits:
    """Log-softmax of each row."""
    rows = np.stack(logits).astype(np.float64)
    rows -= rows.max(-1, keepdims=True)
    return np.asarray(rows - np.log(np.exp(rows).sum(-1, keepdims=True)))


def decoded(runtime: spirloom.Runtime, path: Path, text: Sequence[int]) -> Logits:
    """The predictions after each token but the last, by `decode`."""
    decode = runtime.load(path, method="decode")
    found = []
    for token in text[:-1]:
        decode.states["token"] = np.array([token], np.int32)
        found.append(decode()[0][0])
    return log_probabilities(found)


def prefilled(runtime: spirloom.Runtime, path: Path, text: Sequence[int]) -> Logits:
    """The predictions after each chunk of tokens, by `prefill`."""
    prefill = runtime.load(path, method="prefill")
    chunks = (text[i : i + CHUNK] for i in range(0, len(text) - CHUNK + 1, CHUNK))
    return log_probabilities([prefill(np.array([c], np.int32))[0][0] for c in chunks])


def divergence(exact: Logits, other: Logits) -> float:
    """The mean Kullback-Leibler divergence, in nats."""
    return float((np.exp(exact) * (exact - other)).sum(-1).mean())


def texts_of(llm: spirloom.LLM, texts: int, tokens: int) -> list[list[int]]:
    """Texts that the model writes."""
    prompt = list(llm.encode(BEGINNING))
    made = []
    for seed in range(texts):
        sampling = Sampling(temperature=1.0, seed=seed)
        reply = llm.generate_tokens(prompt, tokens=tokens - len(prompt), sampling=sampling)
        made.append([*prompt, *reply])
    return made


def rows(model: Path, texts: int, tokens: int) -> Iterator[str]:
    """The rows of the table."""
    runtime = spirloom.Runtime()
    with tempfile.TemporaryDirectory() as name:
        made = {dtype: model_with(model, dtype, Path(name)) for dtype in FORMATS}
        tokenizer = read_tokenizer() if model == MODEL else None  # others require `tokenizers`
        llm = spirloom.LLM(made["f32"][0], tokenizer=tokenizer, runtime=runtime)
        written = texts_of(llm, texts, tokens)
        exact: tuple[Logits, Logits] | None = None
        following = np.concatenate([text[1:] for text in written])
        for dtype, (path, cache) in made.items():
            steps = np.concatenate([decoded(runtime, path, text) for text in written])
            chunks = np.concatenate([prefilled(runtime, path, text) for text in written])
            exact = exact or (steps, chunks)
            chosen = steps[np.arange(len(steps)), following]
            same = (steps.argmax(-1) == exact[0].argmax(-1)).mean()
            yield (
                f"| {dtype} | {cache.bytes_per_token // cache.layers:,} "
                f"| {np.exp(-chosen.mean()):.3f} | {divergence(exact[0], steps):.1e} "
                f"| {100 * same:.1f} % | {divergence(exact[1], chunks):.1e} |"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path, default=MODEL, help="default: the example")
    parser.add_argument("--texts", type=int, default=16, help="default: %(default)s")
    parser.add_argument("--tokens", type=int, default=256, help="default: %(default)s")
    arguments = parser.parse_args()
    print(
        "| dtype | bytes per token and layer | perplexity | divergence, nats | same best token "
        "| divergence of prefill, nats |\n|---|--:|--:|--:|--:|--:|"
    )
    for row in rows(arguments.model, arguments.texts, arguments.tokens):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
