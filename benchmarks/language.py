"""A language model of 110 million parameters: Spirloom and ggml on the same Vulkan device, from the
same file, taken in turns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.context import BenchmarkFailed, Context, python, run, run_json
from benchmarks.peers import ggml_model

# As llama2.c's larger model of stories has them.
SIZES = {
    "hidden": 768,
    "inner": 2048,
    "layers": 12,
    "heads": 12,
    "key_heads": 12,
    "words": 32000,
    "context": 1024,
}
PROMPT, TOKENS = 128, 64
# By the type of the file's matrices, what the import is told: that halves stay halves.
KINDS = {"q4_0": (), "f16": ("--fp16",), "f32": ()}


@dataclass(slots=True)
class Program:
    """What a program did in its processes so far."""

    device: str = ""
    tokens: list[int] = field(default_factory=list)
    prompt_seconds: float = np.inf
    reply_seconds: float = np.inf

    def add(self, found: dict[str, Any]) -> None:
        """One process more, of which the least times stay."""
        self.device, self.tokens = found["device"], found["tokens"]
        self.prompt_seconds = min(self.prompt_seconds, found["prompt_seconds"])
        self.reply_seconds = min(self.reply_seconds, found["reply_seconds"])

    def rates(self) -> dict[str, float]:
        """Tokens a second. The first token of a reply is the prompt's last result."""
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
    """Tokens of a text that nobody wrote."""
    random = np.random.default_rng(0)
    return [int(token) for token in random.integers(0, SIZES["words"], PROMPT)]


def _programs(context: Context) -> dict[str, Program]:
    names = ("spirloom", "ggml") if context.ggml else ("spirloom",)
    return {name: Program() for name in names}


def _files(writer: Path, kind: str, folder: Path) -> tuple[Path, Path]:
    """The model as both programs take it; what is imported is the one file."""
    gguf, slg = folder / f"{kind}.gguf", folder / f"{kind}.slg"
    ggml_model.write(writer, gguf, kind, SIZES)
    command: list[str | Path] = [python().with_name("spirloom"), "import", gguf, "-o", slg]
    run([*command, "--prompt", str(PROMPT), *KINDS[kind]])
    return gguf, slg


def _reply(slg: Path) -> dict[str, Any]:
    told = ["--prompt", json.dumps(prompt()), "--tokens", str(TOKENS)]
    return run_json([python(), "-m", "benchmarks.language_run", slg, *told])


def _result(kind: str, programs: dict[str, Program]) -> dict[str, Any]:
    """Raises BenchmarkFailed where the programs do not do the same."""
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
            raise BenchmarkFailed(f"ggml's first token of {kind} is another than Spirloom's")
    return found


def common(ours: Sequence[int], theirs: Sequence[int]) -> int:
    """How many tokens are the same before the first that is not."""
    same = 0
    for our, their in zip(ours, theirs, strict=True):
        if our != their:
            break
        same += 1
    return same
