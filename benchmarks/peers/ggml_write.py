"""Writes a language model with synthetic weights as a GGUF file. Runs in ggml's environment
(ggml_model.py), which has the package `gguf`, and therefore imports no module of the project.

    python ggml_write.py OUTPUT.gguf --type q4_0 --sizes '{"hidden": 768, …}'

The vocabulary is the 256 bytes and placeholder tokens.
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
# The scale of the token embedding. The logits are products with the tied embedding: at a scale near
# 1, which is that of the layers' contributions, greedy decoding would repeat the last token.
EMBEDDING_SCALE = 0.05


def byte_symbols() -> list[str]:
    """The characters that represent bytes in a GPT-2 vocabulary."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = (byte for byte in range(256) if byte not in shown)
    symbols = {byte: chr(byte) for byte in shown}
    symbols |= {byte: chr(256 + index) for index, byte in enumerate(hidden)}
    return [symbols[byte] for byte in range(256)]


def add_vocabulary(writer: gguf.GGUFWriter, size: int) -> None:
    """Adds a vocabulary without BOS and EOS tokens."""
    names = [*byte_symbols(), *(f"<{token}>" for token in range(256, size - 1)), "ab"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types([gguf.TokenType.NORMAL] * size)
    writer.add_token_merges(["a b"])  # llama.cpp requires at least one
    writer.add_add_bos_token(False)


def add_sizes(writer: gguf.GGUFWriter, sizes: dict[str, int]) -> None:
    """Adds the hyperparameters of a Llama model."""
    writer.add_context_length(sizes["context"])
    writer.add_vocab_size(sizes["vocabulary"])
    writer.add_embedding_length(sizes["hidden"])
    writer.add_feed_forward_length(sizes["inner"])
    writer.add_block_count(sizes["layers"])
    writer.add_head_count(sizes["heads"])
    writer.add_head_count_kv(sizes["key_heads"])
    writer.add_rope_dimension_count(sizes["hidden"] // sizes["heads"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(EPSILON)


def shapes(sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Tensor shapes by name; the output layer is tied to the token embedding."""
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
    found: dict[str, tuple[int, ...]] = {"token_embd": (sizes["vocabulary"], hidden)}
    for index in range(sizes["layers"]):
        found |= {f"blk.{index}.{name}": shape for name, shape in layer.items()}
    return found | {"output_norm": (hidden,)}


def synthetic(
    name: str, shape: tuple[int, ...], random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Random weights that preserve the magnitude of activations."""
    if len(shape) == 1:
        return np.ones(shape, np.float32)
    scale = EMBEDDING_SCALE if name == "token_embd" else shape[1] ** -0.5
    return random.standard_normal(shape, np.float32) * np.float32(scale)


def write(path: Path, kind: Type, sizes: dict[str, int]) -> None:
    """Writes the file with all matrices in that type."""
    writer = gguf.GGUFWriter(path, "llama")
    add_sizes(writer, sizes)
    add_vocabulary(writer, sizes["vocabulary"])
    random = np.random.default_rng(0)
    for name, shape in shapes(sizes).items():
        dtype = kind if len(shape) == 2 else Type.F32
        data = gguf.quants.quantize(synthetic(name, shape, random), dtype)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=dtype)
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
