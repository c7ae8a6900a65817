"""Times a language model in a graph file; the counterpart of benchmarks/peers/ggml_run.py.

    python -m benchmarks.language_run MODEL.slg --prompt TOKENS --tokens N

prints a JSON object: prompt_seconds, the latency of the first token; reply_seconds, the time of the
other tokens (greedy decoding, each token read by the host before the next step); tokens; device.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import spirloom


class Session:
    """A model and its KV cache."""

    def __init__(self, runtime: spirloom.Runtime, path: Path) -> None:
        self._prefill = runtime.load(path, method="prefill")
        self._decode = self._prefill.context("decode", share_states=True)

    def prefill(self, prompt: list[int]) -> int:
        """Resets the position, runs prefill, and returns the first generated token."""
        self._decode.states["position"] = np.zeros(1, np.int32)
        self._prefill(np.array([prompt], np.int32))
        return self._chosen()

    def decode(self) -> int:
        """Runs a decode step and returns the token."""
        self._decode()
        return self._chosen()

    def _chosen(self) -> int:
        return int(self._decode.states["token"][0])


def reply(session: Session, prompt: list[int], count: int) -> dict[str, Any]:
    """Times the generation of `count` tokens."""
    start = time.perf_counter()
    tokens = [session.prefill(prompt)]
    middle = time.perf_counter()
    while len(tokens) < count:
        tokens.append(session.decode())
    end = time.perf_counter()
    return {"prompt_seconds": middle - start, "reply_seconds": end - middle, "tokens": tokens}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompt", type=json.loads, required=True, help="tokens as JSON")
    parser.add_argument("--tokens", type=int, required=True)
    arguments = parser.parse_args()
    runtime = spirloom.Runtime()
    session = Session(runtime, arguments.model)
    reply(session, arguments.prompt, 2)  # warm-up: the driver compiles the pipelines
    found = reply(session, arguments.prompt, arguments.tokens)
    print(json.dumps({**found, "device": runtime.device.name}), flush=True)


if __name__ == "__main__":
    main()
