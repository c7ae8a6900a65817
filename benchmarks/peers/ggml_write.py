"""Writes a language model of made-up weights as a GGUF file. Runs in ggml's environment
(ggml_model.py), which has the package `gguf`, and so imports nothing of the project.

    python ggml_write.py OUTPUT.gguf --type q4_0 --sizes '{"hidden": 768, …}'

Words are the 256 bytes and names that no text has.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType as Type

EPSILON = 1e-5
# Of a word's own numbers beside the 1 or so of what layers add: the word read last, whose numbers
# the scores are products with, would else be chosen again and again.
WORD = 0.05


def byte_symbols() -> list[str]:
    """The characters that stand for bytes in a vocabulary as GPT-2 has it."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = (byte for byte in range(256) if byte not in shown)
    symbols = {byte: chr(byte) for byte in shown}
    symbols |= {byte: chr(256 + place) for place, byte in enumerate(hidden)}
    return [symbols[byte] for byte in range(256)]


def add_vocabulary(writer: gguf.GGUFWriter, size: int) -> None:
    """No token ends a text, and none begins it."""
    names = [*byte_symbols(), *(f"<{number}>" for number in range(256, size - 1)), "ab"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types([gguf.TokenType.NORMAL] * size)
    writer.add_token_merges(["a b"])  # llama.cpp wants one
    writer.add_add_bos_token(False)


def add_sizes(writer: gguf.GGUFWriter, sizes: dict[str, int]) -> None:
    """What a Llama's file tells of its shape."""
    writer.add_context_length(sizes["context"])
    writer.add_vocab_size(sizes["words"])
    writer.add_embedding_length(sizes["hidden"])
    writer.add_feed_forward_length(sizes["inner"])
    writer.add_block_count(sizes["layers"])
    writer.add_head_count(sizes["heads"])
    writer.add_head_count_kv(sizes["key_heads"])
    writer.add_rope_dimension_count(sizes["hidden"] // sizes["heads"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(EPSILON)


def shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The tensors by name; scores are products with the words' own numbers."""
    hidden, inner = sizes["hidden"], sizes["inner"]
    keys = hidden // sizes["heads"] * sizes["key_heads"]
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm": (hidden,),
        "attn_q": (hidden, hidden),
        "attn_k": (keys, hidden),
        "attn_v": (keys, hidden),
        "attn_output": (hidden, hidden),
        "ffn_norm": (hidden,),
        "ffn_gate": (inner, hidden),
        "ffn_up": (inner, hidden),
        "ffn_down": (hidden, inner),
    }
    found: dict[str, tuple[int, ...]] = {"token_embd": (sizes["words"], hidden)}
    for number in range(sizes["layers"]):
        found |= {f"blk.{number}.{name}": shape for name, shape in layer.items()}
    return found | {"output_norm": (hidden,)}


def made_up(
    name: str, shape: tuple[int, ...], random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Products of it are about as large as what they take."""
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    scale = WORD if name == "token_embd" else shape[1] ** -0.5
    return random.standard_normal(shape, np.float32) * np.float32(scale)


def write(path: Path, kind: Type, sizes: dict[str, int]) -> None:
    """Every matrix is of that type."""
    writer = gguf.GGUFWriter(path, "llama")
    add_sizes(writer, sizes)
    add_vocabulary(writer, sizes["words"])
    random = np.random.default_rng(0)
    for name, shape in shapes(sizes).items():
        of = kind if len(shape) == 2 else Type.F32
        numbers = gguf.quants.quantize(made_up(name, shape, random), of)
        writer.add_tensor(f"{name}.weight", numbers, raw_dtype=of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--type", choices=("q4_0", "f16", "f32"), required=True)
    parser.add_argument("--sizes", type=json.loads, required=True)
    arguments = parser.parse_args()
    write(arguments.output, Type[arguments.type.upper()], arguments.sizes)


if __name__ == "__main__":
    main()
