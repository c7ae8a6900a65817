"""The language models of the GPU benchmark. Their GGUF files are written on the device's machine
(gguf_model.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# Llama 3.1 8B and Llama 3.2 1B.
LLAMA_8B: Mapping[str, int] = {
    "hidden": 4096,
    "inner": 14336,
    "layers": 32,
    "heads": 32,
    "kv_heads": 8,
    "vocabulary": 128256,
    "context": 32768,
    "tied": False,
}
LLAMA_1B: Mapping[str, int] = {
    **LLAMA_8B,
    "hidden": 2048,
    "inner": 8192,
    "layers": 16,
    "tied": True,
}


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model by its sizes and the type of its matrices.

    `chunk` is the number of tokens of a prefill run, `prompts` are lengths, and `depths` are the
    numbers of tokens in the KV cache before a decode step.
    """

    name: str
    weights: str
    sizes: Mapping[str, int]
    chunk: int = 512
    prompts: tuple[int, ...] = (512, 4096)
    depths: tuple[int, ...] = (512, 4096, 16384)
    context: int = 20480


# In order of importance: a run with a time limit may end before the last.
LANGUAGE_MODELS = (
    LanguageModel("llama_3.1_8b", "q4_0", LLAMA_8B),
    LanguageModel("llama_3.2_1b", "q4_0", LLAMA_1B),
    LanguageModel("llama_3.1_8b", "q4_k", LLAMA_8B),
    LanguageModel("llama_3.2_1b", "q4_k", LLAMA_1B),
    LanguageModel("llama_3.2_1b", "f16", LLAMA_1B),
    LanguageModel("llama_3.1_8b", "f16", LLAMA_8B),
)
