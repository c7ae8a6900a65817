"""Writes GGUF files: the models of the tests, and invalid files that no writer produces."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from spirloom.ir import Array

F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8
U32, I32, F32_VALUE, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
SIZES = {"embedding_length": 32, "feed_forward_length": 64, "block_count": 1,
         "attention.head_count": 4, "attention.head_count_kv": 2, "context_length": 24}  # fmt: skip
WORDS = 40


@dataclass(frozen=True, slots=True)
class Written:
    """A tensor: its shape, type code and bytes. `offset` None: the next free offset."""

    shape: tuple[int, ...]
    kind: int
    content: bytes
    offset: int | None = None


def file_bytes(
    metadata: Mapping[str, Any], tensors: Mapping[str, Written], version: int = 3
) -> bytes:
    """Metadata values are (type, packed bytes), str, int or float."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        head += _string(key) + _value(value)
    content = b""
    for name, tensor in tensors.items():
        content += bytes(-len(content) % 32)
        offset = len(content) if tensor.offset is None else tensor.offset
        sizes = tensor.shape[::-1]
        head += _string(name) + struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
        head += struct.pack("<IQ", tensor.kind, offset)
        content += tensor.content
    return head + bytes(-len(head) % 32) + content


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    match value:
        case (int(kind), bytes(packed)):
            return struct.pack("<I", kind) + packed
        case str():
            return struct.pack("<I", STRING) + _string(value)
        case float():
            return struct.pack("<If", F32_VALUE, value)
        case _:
            return struct.pack("<II", U32, value)


def tiny_metadata(architecture: str = "llama") -> dict[str, Any]:
    """Metadata of a model with one layer."""
    words = b"".join(_string(f"w{i}") for i in range(3))
    return {
        "general.architecture": architecture,
        "tokenizer.ggml.tokens": (ARRAY, struct.pack("<IQ", STRING, 3) + words),
        "tokenizer.ggml.types": (ARRAY, struct.pack("<IQ3i", I32, 3, 1, 1, 1)),
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        **{f"{architecture}.{name}": value for name, value in SIZES.items()},
    }


def tiny_weights(architecture: str = "llama") -> dict[str, Array]:
    """Weights by their names in the file. Rows of queries and keys are in interleaved RoPE
    order.
    """
    hidden, inner = SIZES["embedding_length"], SIZES["feed_forward_length"]
    shapes = {
        "token_embd": (WORDS, hidden),
        "output_norm": (hidden,),
        "blk.0.attn_norm": (hidden,),
        "blk.0.attn_q": (hidden, hidden),
        "blk.0.attn_k": (hidden // 2, hidden),
        "blk.0.attn_v": (hidden // 2, hidden),
        "blk.0.attn_output": (hidden, hidden),
        "blk.0.ffn_norm": (hidden,),
        "blk.0.ffn_gate": (inner, hidden),
        "blk.0.ffn_up": (inner, hidden),
        "blk.0.ffn_down": (hidden, inner),
    }
    if architecture == "phi3":
        for name in ("attn_q", "attn_k", "attn_v", "ffn_gate"):
            del shapes[f"blk.0.{name}"]
        shapes |= {"blk.0.attn_qkv": (2 * hidden, hidden), "blk.0.ffn_up": (2 * inner, hidden)}
    if architecture in ("gemma2", "gemma3", "olmo2"):
        names = ("post_attention_norm", "post_ffw_norm")
        shapes |= {f"blk.0.{name}": (hidden,) for name in names}
    if architecture == "olmo2":
        for name in ("attn_norm", "ffn_norm"):
            del shapes[f"blk.0.{name}"]
        shapes |= {"blk.0.attn_q_norm": (hidden,), "blk.0.attn_k_norm": (hidden // 2,)}
    random = np.random.default_rng(1)
    return {
        f"{name}.weight": random.normal(0, 0.3, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def tiny_tensors(kind: int = F32, architecture: str = "llama") -> dict[str, Written]:
    """The same tensors, with matrices of one ggml type."""
    return {
        name: Written(values.shape, kind if values.ndim > 1 else F32,
                      packed(values, kind) if values.ndim > 1 else values.tobytes())
        for name, values in tiny_weights(architecture).items()
    }  # fmt: skip


def packed(values: Array, kind: int) -> bytes:
    """Blocks of 32 elements, with a scale that reaches their maximum."""
    if kind in (F32, F16):
        return values.astype(np.float16 if kind == F16 else np.float32).tobytes()
    blocks = values.reshape(-1, 32)
    scales = np.abs(blocks).max(axis=1, keepdims=True) / (7 if kind == Q4_0 else 127)
    scales = scales.astype(np.float16)
    steps = np.rint(blocks / scales.astype(np.float32)).astype(np.int8)
    if kind == Q4_0:
        shifted = (steps + 8).astype(np.uint8)
        steps = shifted[:, :16] | shifted[:, 16:] << 4
    return bytes(np.concatenate([scales.view(np.uint8), steps.view(np.uint8)], axis=1))
