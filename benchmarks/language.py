"""A language model of 110 million parameters in Spirloom and ggml: the same GGUF file on the same
Vulkan device, in interleaved processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.context import BenchmarkFailed, Context, python, run, run_json
from benchmarks.peers import ggml_model

# The sizes of llama2.c's stories110M.
SIZES = {
    "hidden": 768,
    "inner": 2048,
    "layers": 12,
    "heads": 12,
    "key_heads": 12,
    "vocabulary": 32000,
    "context": 1024,
}
PROMPT, TOKENS = 128, 64
# Import options by the type of the file's matrices. --fp16 keeps fp16 weights in fp16.
KINDS = {"q4_0": (), "f16": ("--fp16",), "f32": ()}


@dataclass(slots=True)
class Program:
    """The results of a program over its processes so far."""

    device: str = ""
    tokens: list[int] = field(default_factory=list)
    prompt_seconds: float = np.inf
    reply_seconds: float = np.inf

    def add(self, found: dict[str, Any]) -> None:
        """Merges the result of a process; keeps the minimum times."""
        self.device, self.tokens = found["device"], found["tokens"]
        self.prompt_seconds = min(self.prompt_seconds, found["prompt_seconds"])
        self.reply_seconds = min(self.reply_seconds, found["reply_seconds"])

    def rates(self) -> dict[str, float]:
        """Prefill and decode throughput in tokens/s. The prefill produces the first token."""
        return {
            "prompt": PROMPT / self.prompt_seconds,
            "reply": (len(self.tokens) - 1) / self.reply_seconds,
        }


def measure(context: Context) -> dict[str, Any]:
    """The results as JSON values."""
    writer = ggml_model.install(with_llama=context.ggml)
    files = {kind: _files(writer, kind, context.scratch) for kind in KINDS}
    timed = {kind: _programs(context) for kind in KINDS}
    for turn in range(context.times):
        for kind, (gguf, slg) in files.items():
            print(f"{turn + 1} of {context.times}: {kind}", flush=True)
            programs = timed[kind]
            programs["spirloom"].add(_reply(slg))
            if context.ggml:
                programs["ggml"].add(ggml_model.reply(writer, gguf, prompt(), TOKENS))
    return {
        "sizes": SIZES,
        "prompt": PROMPT,
        "tokens": TOKENS,
        "ggml": ggml_model.VERSION if context.ggml else "",
        "models": [_result(kind, programs) for kind, programs in timed.items()],
    }


def prompt() -> list[int]:
    """Random tokens; deterministic."""
    random = np.random.default_rng(0)
    return [int(token) for token in random.integers(0, SIZES["vocabulary"], PROMPT)]


def _programs(context: Context) -> dict[str, Program]:
    names = ("spirloom", "ggml") if context.ggml else ("spirloom",)
    return {name: Program() for name in names}


def _files(writer: Path, kind: str, folder: Path) -> tuple[Path, Path]:
    """The GGUF file, and the graph file imported from it."""
    gguf, slg = folder / f"{kind}.gguf", folder / f"{kind}.slg"
    ggml_model.write(writer, gguf, kind, SIZES)
    command: list[str | Path] = [python().with_name("spirloom"), "import", gguf, "-o", slg]
    run([*command, "--max-prefill", str(PROMPT), *KINDS[kind]])
    return gguf, slg


def _reply(slg: Path) -> dict[str, Any]:
    options = ["--prompt", json.dumps(prompt()), "--tokens", str(TOKENS)]
    return run_json([python(), "-m", "benchmarks.language_run", slg, *options])


def _result(kind: str, programs: dict[str, Program]) -> dict[str, Any]:
    """Raises BenchmarkFailed if the programs use different devices or their first tokens differ."""
    found: dict[str, Any] = {
        "weights": kind,
        "device": programs["spirloom"].device,
        "rates": {name: program.rates() for name, program in programs.items()},
    }
    if "ggml" in programs:
        ours, theirs = programs["spirloom"], programs["ggml"]
        if ours.device != theirs.device:
            raise BenchmarkFailed(f"ggml runs on {theirs.device}, Spirloom on {ours.device}")
        found["same"] = common(ours.tokens, theirs.tokens)
        if not found["same"]:
            raise BenchmarkFailed(f"{kind}: the first token of ggml differs from Spirloom's")
    return found


def common(ours: Sequence[int], theirs: Sequence[int]) -> int:
    """The length of the common prefix of two token sequences."""
    same = 0
    for our, their in zip(ours, theirs, strict=True):
        if our != their:
            break
        same += 1
    return same
