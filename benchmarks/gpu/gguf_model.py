"""Writes a Llama model with synthetic weights as a GGUF file. Requires NumPy only.

    python3 gguf_model.py MODEL.gguf --weights q4_0|q4_k|f16 --sizes '{"hidden": 4096, …}'

Matrices repeat a period of random blocks. The output layer has Q6_K weights, as llama.cpp's
quantized files have, unless `tied` or f16; other matrices and the token embedding have the type
of --weights. The vocabulary is the 256 bytes and placeholder tokens.
"""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]

ALIGNMENT = 32
PERIOD = 65521  # blocks; prime, so that rows differ
STEP = 7919  # blocks between the starts of two tensors: importers store equal tensors once
# ggml's type: number in files, elements and bytes of a block, offsets of its fp16 scales.
F32, F16, Q4_0, Q4_K, Q6_K = "f32", "f16", "q4_0", "q4_k", "q6_k"
TYPES = {
    F32: (0, 1, 4, ()),
    F16: (1, 1, 2, ()),
    Q4_0: (2, 32, 18, (0,)),
    Q4_K: (12, 256, 144, (0, 2)),
    Q6_K: (14, 256, 210, (208,)),
}
# By type: standard deviation of a block's values in units of its scale; for Q4_K, of scale and
# minimum, whose ratio makes the mean of values zero.
UNITS = {Q4_0: (4.6,), Q4_K: (4.6 * 32, 4.6 * 32 / 7.5), Q6_K: (18 * 60,)}
NO_BLOCKS: Bytes = np.zeros(0, np.uint8)
U32, I32, FLOAT, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(given: Any) -> bytes:
    """A metadata value with its type. Lists are of strings or of integers."""
    match given:
        case bool():
            return struct.pack("<IB", BOOL, given)
        case int():
            return struct.pack("<II", U32, given)
        case float():
            return struct.pack("<If", FLOAT, given)
        case str():
            return struct.pack("<I", STRING) + string(given)
        case [str(), *_]:
            head = struct.pack("<IIQ", ARRAY, STRING, len(given))
            return head + b"".join(map(string, given))
        case _:
            return struct.pack(f"<IIQ{len(given)}i", ARRAY, I32, len(given), *given)


def byte_symbols() -> list[str]:
    """The characters that represent bytes in a GPT-2 vocabulary."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = (byte for byte in range(256) if byte not in shown)
    symbols = {byte: chr(byte) for byte in shown}
    symbols |= {byte: chr(256 + index) for index, byte in enumerate(hidden)}
    return [symbols[byte] for byte in range(256)]


def metadata(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Hyperparameters, and a vocabulary without BOS and EOS tokens."""
    count = sizes["vocabulary"]
    return {
        "general.architecture": "llama",
        "general.alignment": ALIGNMENT,
        "llama.context_length": sizes["context"],
        "llama.vocab_size": count,
        "llama.embedding_length": sizes["hidden"],
        "llama.feed_forward_length": sizes["inner"],
        "llama.block_count": sizes["layers"],
        "llama.attention.head_count": sizes["heads"],
        "llama.attention.head_count_kv": sizes["kv_heads"],
        "llama.rope.dimension_count": sizes["hidden"] // sizes["heads"],
        "llama.rope.freq_base": 500000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": byte_symbols() + [f"<{i}>" for i in range(257, count)] + ["ab"],
        "tokenizer.ggml.token_type": [1] * count,
        "tokenizer.ggml.merges": ["a b"],  # llama.cpp requires at least one
        "tokenizer.ggml.add_bos_token": False,
    }


def tensors(sizes: Mapping[str, int], weights: str) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Name, shape and type of each tensor, in order."""
    hidden, inner = sizes["hidden"], sizes["inner"]
    keys = hidden // sizes["heads"] * sizes["kv_heads"]
    yield "token_embd", (sizes["vocabulary"], hidden), weights
    if not sizes["tied"]:
        yield "output", (sizes["vocabulary"], hidden), weights if weights == F16 else Q6_K
    for index in range(sizes["layers"]):
        yield f"blk.{index}.attn_norm", (hidden,), F32
        yield f"blk.{index}.attn_q", (hidden, hidden), weights
        yield f"blk.{index}.attn_k", (keys, hidden), weights
        yield f"blk.{index}.attn_v", (keys, hidden), weights
        yield f"blk.{index}.attn_output", (hidden, hidden), weights
        yield f"blk.{index}.ffn_norm", (hidden,), F32
        yield f"blk.{index}.ffn_gate", (inner, hidden), weights
        yield f"blk.{index}.ffn_up", (inner, hidden), weights
        yield f"blk.{index}.ffn_down", (hidden, inner), weights
    yield "output_norm", (hidden,), F32


def nbytes(shape: tuple[int, ...], kind: str) -> int:
    _, elements, size, _ = TYPES[kind]
    if shape[-1] % elements:
        raise SystemExit(f"{kind}: rows of {shape[-1]} are no multiple of {elements}")
    return int(np.prod(shape)) // elements * size


def period(kind: str, scale: float, random: np.random.Generator) -> Bytes:
    """Random blocks whose values have about that standard deviation."""
    if kind == F16:
        floats = random.uniform(-1, 1, PERIOD) * scale * np.sqrt(3)
        halves: Bytes = floats.astype(np.float16).view(np.uint8)
        return halves
    _, _, size, offsets = TYPES[kind]
    blocks = random.integers(0, 256, (PERIOD, size), dtype=np.uint8)
    for offset, unit in zip(offsets, UNITS[kind], strict=True):
        blocks[:, offset : offset + 2] = np.full(1, scale / unit, np.float16).view(np.uint8)
    flat: Bytes = blocks.reshape(-1)
    return flat


def content(
    index: int, shape: tuple[int, ...], kind: str, blocks: Bytes
) -> Iterator[memoryview | bytes]:
    """A tensor and the padding after it; `blocks` is the period of a matrix."""
    left = nbytes(shape, kind)
    padding = bytes(-left % ALIGNMENT)
    if len(shape) == 1:
        yield np.ones(shape, np.float32).tobytes()
        left = 0
    start = index * STEP % PERIOD * TYPES[kind][2]
    while left:
        part = blocks[start : start + left]
        yield part.data
        left, start = left - part.size, 0
    yield padding


def write(path: Path, weights: str, sizes: Mapping[str, int]) -> None:
    """Writes the file."""
    described = list(tensors(sizes, weights))
    fields = metadata(sizes)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(described), len(fields))
    head += b"".join(string(key) + value(each) for key, each in fields.items())
    offset = 0
    for name, shape, kind in described:
        head += string(f"{name}.weight")
        head += struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += struct.pack("<IQ", TYPES[kind][0], offset)
        offset += -(-nbytes(shape, kind) // ALIGNMENT) * ALIGNMENT
    periods: dict[tuple[str, int], Bytes] = {}
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        for index, (_, shape, kind) in enumerate(described):
            key = kind, shape[-1]
            if len(shape) > 1 and key not in periods:
                periods[key] = period(kind, shape[-1] ** -0.5, random)
            file.writelines(content(index, shape, kind, periods.get(key, NO_BLOCKS)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--weights", choices=(Q4_0, Q4_K, F16), required=True)
    parser.add_argument("--sizes", type=json.loads, required=True)
    arguments = parser.parse_args()
    write(arguments.output, arguments.weights, arguments.sizes)


if __name__ == "__main__":
    main()
