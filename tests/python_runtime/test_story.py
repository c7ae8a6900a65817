"""examples/story: the committed model against a NumPy implementation with the file's weights."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom import graph_reader
from spirloom.ir import Array, Graph, Node, Tensor

from examples.story.generate import MODEL, read_tokenizer
from examples.story.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
BEGINNING = "Mr. Darcy had never been so bewitched by any woman as"
HEADS, CACHED, SIZE, LAYERS = 6, 3, 32, 4


class Network:
    """Llama in float64, without a KV cache."""

    def __init__(self, graph: Graph) -> None:
        self._nodes = {
            node.name: node
            for node in graph.nodes
            if any(tensor.data is not None for tensor in node.inputs())
        }
        self._weights = {t.name: t.data for t in graph.tensors() if t.data is not None}

    def logits(self, tokens: list[int]) -> Array:
        """The logits of the next token."""
        x = self._matrix("embedding")[tokens]
        for layer in range(LAYERS):
            x = self._layer(x, f"model.layers.{layer}")
        return np.asarray(self._matrix("lm_head") @ self._normed(x[-1], "model.norm"))

    def _layer(self, x: Array, name: str) -> Array:
        h = self._normed(x, f"{name}.input_layernorm") @ self._matrix(f"{name}.self_attn.qkv").T
        q, k, v = np.split(h.reshape(len(x), -1, SIZE), [HEADS, HEADS + CACHED], axis=1)
        attended = np.concatenate(
            [self._attend(rotated(q)[:, head], rotated(k)[:, head // 2], v[:, head // 2])
             for head in range(HEADS)], axis=-1)  # fmt: skip
        x = x + attended @ self._matrix(f"{name}.self_attn.o_proj").T
        h = self._normed(x, f"{name}.post_attention_layernorm")
        gate, up = np.split(h @ self._matrix(f"{name}.mlp.gate_up").T, 2, axis=-1)
        h = gate / (1 + np.exp(-gate)) * up
        return np.asarray(x + h @ self._matrix(f"{name}.mlp.down_proj").T)

    @staticmethod
    def _attend(q: Array, k: Array, v: Array) -> Array:
        scores = np.where(np.tri(len(q), dtype=bool), q @ k.T / SIZE**0.5, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True) @ v)

    def _normed(self, x: Array, name: str) -> Array:
        weight = self._weights[f"{name}.weight"]
        return np.asarray(x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + 1e-5) * weight)

    def _matrix(self, name: str) -> Array:
        """Dequantizes int4 weights: two per byte, low nibble first, offset 8; groups of 32."""
        packed, scales = _constants(self._nodes[name])
        codes = np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1, 32)
        values = (codes.astype(np.float64) - 8) * scales.T[..., None].astype(np.float64)
        return np.asarray(values.reshape(len(packed), -1))


def _constants(node: Node) -> tuple[Array, Array]:
    arrays = [t.data for t in node.inputs() if isinstance(t, Tensor) and t.data is not None]
    (packed,) = (a for a in arrays if a.dtype == np.uint8)
    (scales,) = (a for a in arrays if a.dtype == np.float16)
    return packed, scales


def rotated(x: Array) -> Array:
    """RoPE of x [token, head, column]: column i is paired with column i + SIZE / 2."""
    angles = np.arange(len(x))[:, None] * 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return read_tokenizer()


def test_tokens_match_a_numpy_implementation(
    runtime: spirloom.Runtime, tokenizer: Tokenizer
) -> None:
    methods: Any = graph_reader.load_methods(MODEL)
    network = Network(methods[0])
    prompt = tokenizer.encode(BEGINNING)
    tokens = list(prompt)
    prefill = runtime.load(MODEL, method="prefill")
    for _ in range(64):
        logits = network.logits(tokens)
        if len(tokens) == len(prompt):
            (found,) = prefill(np.array([prompt], np.int32))
            assert np.abs(found[0] - logits).max() <= 1e-4 * np.abs(logits).max()
        tokens.append(int(logits.argmax()))
    expected = tokens[len(prompt) :]
    assert len(set(expected)) > 12, "the text is not repetitive"
    llm = spirloom.LLM(MODEL, tokenizer=tokenizer, runtime=runtime)
    assert list(llm.generate_tokens(prompt, tokens=64)) == expected
    assert "".join(llm.generate(BEGINNING, tokens=64)) == tokenizer.decode(expected)
    decode = prefill.context("decode", share_states=True)
    for chunks in ([1] * len(prompt), [len(prompt)], [3, 1, len(prompt) - 4]):
        prefill.reset_states()
        start = 0
        for size in chunks:
            prefill(np.array([prompt[start : start + size]], np.int32))
            start += size
        decode.submit_repeated(63).result()
        assert decode.states["tokens"][len(prompt) : len(prompt) + 64].tolist() == expected


def test_the_program_is_deterministic() -> None:
    command = [
        sys.executable,
        str(ROOT / "examples/story/generate.py"),
        BEGINNING,
        "--tokens",
        "40",
    ]
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    first, second = (each.stdout.rpartition("\n\n")[0] for each in done)
    assert first == second and " ".join(first.split()).startswith(BEGINNING)
    assert len(first) > len(BEGINNING) + 60
    long = subprocess.run([*command[:3], "--tokens", "999"], capture_output=True, text=True)
    assert long.returncode == 1 and "exceed the context of 256" in long.stderr


def test_the_file_is_small() -> None:
    assert MODEL.stat().st_size < 2e6


def test_the_documented_text() -> None:
    """That of the README. Sampling depends on the device's rounding."""
    device = spirloom.Runtime().device.name
    if "llvmpipe" not in device:
        pytest.skip(f"The text of the README is llvmpipe's; the device is {device}.")
    readme = (ROOT / "examples/story/README.md").read_text(encoding="utf-8")
    lines = [line[4:] for line in readme.splitlines() if line.startswith("    ")]
    (command,) = (line for line in lines if "generate.py" in line)
    arguments = shlex.split(command)[1:]
    printed = subprocess.run(
        [sys.executable, ROOT / arguments[0], *arguments[1:]],
        capture_output=True, text=True, check=True,
    ).stdout.partition("\n\n")[0].splitlines()  # fmt: skip
    assert printed == lines[1 : 1 + len(printed)] and len(printed) == 4
