"""Writes a Hugging Face directory with NumPy only: a tiny Llama with random weights."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

HIDDEN, INNER, LAYERS, HEADS, CACHED = 32, 48, 2, 4, 2
TOKENIZERS = Path(__file__).resolve().parent / "tokenizers"
CHATML = (
    "{% if messages[0].role == 'system' %}{{ '<|im_start|>system\n' + messages[0].content + "
    "'<|im_end|>\n' }}{% set messages = messages[1:] %}{% endif %}{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def write_model_directory(
    directory: Path, tokenizer: str, context: int, chat: str = CHATML
) -> None:
    """`tokenizer` is a name in tests/llm/tokenizers; `</s>` and `<|im_end|>` are EOS tokens."""
    directory.mkdir()
    content = json.loads((TOKENIZERS / f"{tokenizer}.json").read_text())["tokenizer"]
    ids = {token["content"]: token["id"] for token in content["added_tokens"]}
    vocabulary = 1 + max([*ids.values(), *content["model"]["vocab"].values()])
    config = {
        "model_type": "llama",
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": CACHED,
        "max_position_embeddings": context,
        "rms_norm_eps": 1e-5,
        "eos_token_id": ids["</s>"],
        "bos_token_id": ids["<s>"],
    }
    settings = {
        "bos_token": "<s>",
        "eos_token": "<|im_end|>",
        "add_bos_token": True,
        "chat_template": chat,
    }
    for name, value in (
        ("config", config), ("tokenizer_config", settings), ("tokenizer", content),
    ):  # fmt: skip
        (directory / f"{name}.json").write_text(json.dumps(value))
    _write_weights(directory / "model.safetensors", vocabulary)


def _write_weights(path: Path, vocabulary: int) -> None:
    size = HIDDEN // HEADS
    shapes = {"embed_tokens": (vocabulary, HIDDEN), "norm": (HIDDEN,)}
    for layer in range(LAYERS):
        prefix = f"layers.{layer}"
        attention = {"q": HIDDEN, "k": CACHED * size, "v": CACHED * size, "o": HIDDEN}
        for part, rows in attention.items():
            shapes[f"{prefix}.self_attn.{part}_proj"] = (rows, HIDDEN)
        shapes[f"{prefix}.mlp.gate_proj"] = shapes[f"{prefix}.mlp.up_proj"] = (INNER, HIDDEN)
        shapes[f"{prefix}.mlp.down_proj"] = (HIDDEN, INNER)
        shapes[f"{prefix}.input_layernorm"] = (HIDDEN,)
        shapes[f"{prefix}.post_attention_layernorm"] = (HIDDEN,)
    random = np.random.default_rng(5)
    arrays = {f"model.{name}.weight": _weights(random, shape) for name, shape in shapes.items()}
    arrays["lm_head.weight"] = _weights(random, (vocabulary, HIDDEN))
    header, end = {}, 0
    for name, array in arrays.items():
        offsets = [end, end + array.nbytes]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        end = offsets[1]
    text = json.dumps(header).encode()
    data = b"".join(array.tobytes() for array in arrays.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _weights(random: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Random weights, large enough for tokens to differ; norms are 1."""
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    return random.normal(0, 0.4, shape).astype(np.float32)
