"""Times a language model in llama.cpp, all of its layers in ggml's Vulkan backend. Runs in an
environment of its own (ggml_model.py), and so imports nothing of the project.

    python ggml_run.py MODEL.gguf --prompt TOKENS --tokens N [--threads N]

prints a JSON object: prompt_seconds, to the first token; reply_seconds, of the tokens behind it,
each the one of the greatest score; tokens; device; layers, those on the device and all.
GGML_VK_VISIBLE_DEVICES says which device: it takes software devices only if told.
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

SAID: list[str] = []


def hear(level: int, text: bytes, data: ctypes.c_void_p) -> None:
    """Keeps what llama.cpp tells: where layers are it says in no other way."""
    SAID.append(text.decode(errors="replace"))


HEAR = llama.llama_log_callback(hear)  # kept, as llama.cpp goes on calling it


def said(pattern: str) -> tuple[str, ...]:
    """The groups of the first place that matches."""
    found = re.search(pattern, "".join(SAID))
    if found is None:
        raise SystemExit(f"llama.cpp does not say '{pattern}'")
    return found.groups()


class Model:
    """A model and the one text that it goes on with."""

    def __init__(self, path: Path, longest: int, threads: int) -> None:
        llama.llama_log_set(HEAR, None)
        llama.llama_backend_init()
        loads = llama.llama_model_default_params()
        loads.n_gpu_layers = 99
        self._model = llama.llama_model_load_from_file(str(path).encode(), loads)
        if not self._model:
            raise SystemExit(f"llama.cpp cannot load {path}")
        takes = llama.llama_context_default_params()
        takes.n_ctx = longest
        takes.n_threads = takes.n_threads_batch = threads  # of what is not on the device
        self._context = llama.llama_init_from_model(self._model, takes)
        if not self._context:
            raise SystemExit(f"llama.cpp has no context for {path}")
        self._words = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self._model))

    def forget(self) -> None:
        """Begins a text anew."""
        llama.llama_memory_clear(llama.llama_get_memory(self._context), True)

    def read(self, tokens: list[int]) -> int:
        """Goes on with the tokens; gives the one of the greatest score behind them."""
        values = (llama.llama_token * len(tokens))(*tokens)
        batch = llama.llama_batch_get_one(values, len(tokens))
        if llama.llama_decode(self._context, batch) != 0:
            raise SystemExit("llama.cpp cannot run the model")
        scores: Any = llama.llama_get_logits_ith(self._context, -1)
        return int(np.ctypeslib.as_array(scores, (self._words,)).argmax())


def reply(model: Model, prompt: list[int], count: int) -> dict[str, Any]:
    """Times one text."""
    model.forget()
    start = time.perf_counter()
    tokens = [model.read(prompt)]
    middle = time.perf_counter()
    while len(tokens) < count:
        tokens.append(model.read(tokens[-1:]))
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
    reply(model, arguments.prompt, 2)  # compiles what the next one runs
    found = reply(model, arguments.prompt, arguments.tokens)
    (found["device"],) = said(r"using device \S+ \((.*)\) \(")
    found["layers"] = [int(count) for count in said(r"offloaded (\d+)/(\d+) layers to GPU")]
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
