"""Times a language model in llama.cpp with all layers in ggml's Vulkan backend. Runs in a separate
environment (ggml_model.py) and therefore imports no module of the project.

    python ggml_run.py MODEL.gguf --prompt TOKENS --tokens N [--threads N]

prints a JSON object: prompt_seconds, the latency of the first token; reply_seconds, the time of the
other tokens (greedy decoding); tokens; device; layers, the offloaded count and the total.
GGML_VK_VISIBLE_DEVICES selects the device; ggml uses software devices only if selected.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import time
from pathlib import Path
from typing import Any

import llama_cpp as llama
import numpy as np

LOG: list[str] = []


def append_log(level: int, text: bytes, data: ctypes.c_void_p) -> None:
    """Stores llama.cpp's log messages: only they report the device and the offloaded layers."""
    LOG.append(text.decode(errors="replace"))


LOG_CALLBACK = llama.llama_log_callback(append_log)  # a global: llama.cpp keeps the pointer


def logged(pattern: str) -> tuple[str, ...]:
    """The groups of the first match in the log."""
    found = re.search(pattern, "".join(LOG))
    if found is None:
        raise SystemExit(f"the log of llama.cpp has no match for '{pattern}'")
    return found.groups()


class Model:
    """A model with a KV cache for `context` tokens."""

    def __init__(self, path: Path, context: int, threads: int) -> None:
        llama.llama_log_set(LOG_CALLBACK, None)
        llama.llama_backend_init()
        model_params = llama.llama_model_default_params()
        model_params.n_gpu_layers = 99
        self._model = llama.llama_model_load_from_file(str(path).encode(), model_params)
        if not self._model:
            raise SystemExit(f"llama.cpp failed to load {path}")
        params = llama.llama_context_default_params()
        params.n_ctx = context
        params.n_threads = params.n_threads_batch = threads  # for operators on the CPU
        self._context = llama.llama_init_from_model(self._model, params)
        if not self._context:
            raise SystemExit(f"llama.cpp failed to create a context for {path}")
        self._vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self._model))

    def clear_cache(self) -> None:
        """Clears the KV cache."""
        llama.llama_memory_clear(llama.llama_get_memory(self._context), True)

    def decode(self, tokens: list[int]) -> int:
        """Appends the tokens and returns the most likely next token."""
        values = (llama.llama_token * len(tokens))(*tokens)
        batch = llama.llama_batch_get_one(values, len(tokens))
        if llama.llama_decode(self._context, batch) != 0:
            raise SystemExit("llama.cpp failed to run the model")
        logits: Any = llama.llama_get_logits_ith(self._context, -1)
        return int(np.ctypeslib.as_array(logits, (self._vocabulary,)).argmax())


def reply(model: Model, prompt: list[int], count: int) -> dict[str, Any]:
    """Times the generation of `count` tokens."""
    model.clear_cache()
    start = time.perf_counter()
    tokens = [model.decode(prompt)]
    middle = time.perf_counter()
    while len(tokens) < count:
        tokens.append(model.decode(tokens[-1:]))
    end = time.perf_counter()
    return {"prompt_seconds": middle - start, "reply_seconds": end - middle, "tokens": tokens}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompt", type=json.loads, required=True, help="tokens as JSON")
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    model = Model(arguments.model, len(arguments.prompt) + arguments.tokens, arguments.threads)
    reply(model, arguments.prompt, 2)  # warm-up: the driver compiles the pipelines
    found = reply(model, arguments.prompt, arguments.tokens)
    (found["device"],) = logged(r"using device \S+ \((.*)\) \(")
    found["layers"] = [int(count) for count in logged(r"offloaded (\d+)/(\d+) layers to GPU")]
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
