"""Model families in config.json and GGUF files, and weights in the layout of the operators."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spirloom.errors import ImportFailure
from spirloom.family import Config, RearrangedSource, StoredTensor, floats_of
from spirloom.family.config import FULL, LLAMA, SLIDING
from spirloom.family.rope import RotaryEmbedding
from spirloom.gguf.config import read_config as read_gguf
from spirloom.gguf.model import GgufModel
from spirloom.hf.config import MODEL_TYPES, read_config
from spirloom.ir import Array
from spirloom.quantized_weights import quantize_matrix

from op_specs.attention.attention import rotary_embedding
from tests.frontend.gguf_writer import file_bytes, tiny_metadata, tiny_tensors

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 12,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
}


def read(folder: Path, model_type: str, context: int | None = None, **overrides: Any) -> Config:
    path = folder / "config.json"
    path.write_text(json.dumps({**SIZES, "model_type": model_type, **overrides}))
    return read_config(path, context)


class Tensors:
    """A source of weights by name."""

    def __init__(self, **tensors: StoredTensor) -> None:
        self._tensors = {f"model.layers.0.self_attn.{n}.weight": t for n, t in tensors.items()}

    def has(self, name: str) -> bool:
        return name in self._tensors

    def read(self, name: str) -> StoredTensor:
        return self._tensors[name]

    def name_in_file(self, name: str) -> str:
        return f"file: {name}"


def config(head_size: int, turned: int, **more: Any) -> Config:
    """A configuration with four heads and this number of rotated columns per head."""
    rotation = RotaryEmbedding("", 0.7 ** np.arange(turned // 2))
    return Config(
        family="test", traits=LLAMA, vocab_size=8, hidden_size=4 * head_size, intermediate_size=32,
        num_layers=1, num_heads=4, kv_heads=2, head_size=head_size, rms_norm_eps=1e-6, context=16,
        tied_embeddings=True,
        windows=(0,), rotations=(rotation,), **more,
    )  # fmt: skip


def rotated_by_definition(x: Array, frequencies: Array, position: int, interleaved: bool) -> Array:
    """Rotates the first columns of a head as pairs, interleaved or in two halves. Others are
    unchanged.
    """
    x, count = x.copy(), len(frequencies)
    for pair, angle in enumerate(frequencies * position):
        at = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + count)
        one, two = x[at[0]], x[at[1]]
        x[at[0]] = one * np.cos(angle) - two * np.sin(angle)
        x[at[1]] = two * np.cos(angle) + one * np.sin(angle)
    return x


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rotated", [0, 6, 12, 16])
def test_rearranged_heads_have_the_scores_of_the_file(rotated: int, interleaved: bool) -> None:
    """Q and K of one input, rotated by operators on the rearranged weights."""
    of = config(16, rotated, interleaved_rope=interleaved)
    random = np.random.default_rng(rotated)
    q, k = random.normal(size=(64, 5)), random.normal(size=(32, 5))
    source = RearrangedSource(Tensors(q_proj=q, k_proj=k), of)
    x, (cos, sin) = random.normal(size=5), of.rotations[0].tables(10, 8)
    for at, other in ((3, 7), (9, 0)):
        found: list[Array] = []
        wanted: list[Array] = []
        for name, rows, position in (("q", q, at), ("k", k, other)):
            rearranged = source.read(f"model.layers.0.self_attn.{name}_proj.weight")
            assert isinstance(rearranged, np.ndarray)
            heads = (rearranged @ x).reshape(-1, 16)[:2]
            found.append(rotary_embedding(heads, cos[position], sin[position], False))
            own = (rows @ x).reshape(-1, 16)[:2]
            by_file = [
                rotated_by_definition(head, of.rotations[0].frequencies, position, interleaved)
                for head in own
            ]
            wanted.append(np.array(by_file))
        scores, by_definition = ((one * two).sum(-1) for one, two in (found, wanted))
        np.testing.assert_allclose(scores, by_definition, rtol=1e-5, atol=1e-5)


def test_fused_matrices_are_split() -> None:
    of = config(16, 16)
    whole = np.random.default_rng(1).normal(size=(128, 32)).astype(np.float32)
    formats: list[StoredTensor] = [whole, quantize_matrix(whole, 4, 16)]
    for stored in formats:
        source = RearrangedSource(Tensors(qkv_proj=stored), of)
        parts = [source.read(f"model.layers.0.self_attn.{each}_proj.weight") for each in "qkv"]
        floats = [floats_of(part) for part in parts]
        assert [len(part) for part in floats] == [64, 32, 32]
        np.testing.assert_array_equal(np.concatenate(floats), floats_of(stored))
    short = RearrangedSource(Tensors(qkv_proj=whole[:120]), of)
    with pytest.raises(ImportFailure, match="qkv_proj.weight' has 120 rows; expected 128 by the"):
        short.read("model.layers.0.self_attn.k_proj.weight")


def test_the_attention_factor_applies_to_rotated_columns_only() -> None:
    rotation = replace(config(16, 12).rotations[0], attention_factor=1.5)
    cos, sin = rotation.tables(5, 8)
    np.testing.assert_allclose(cos[:, :6] ** 2 + sin[:, :6] ** 2, 1.5**2, rtol=1e-6)
    assert (cos[:, 6:] == 1).all() and (sin[:, 6:] == 0).all()


def test_defaults_of_families(tmp_path: Path) -> None:
    gemma3 = read(tmp_path, "gemma3_text")
    assert [gemma3.window(layer) for layer in range(7)] == [4096] * 5 + [0, 4096]
    assert len({gemma3.rotation(layer) for layer in range(5)}) == 1
    assert gemma3.rotation(5).frequencies[1] < gemma3.rotation(0).frequencies[1]
    assert (gemma3.head_size, gemma3.tied_embeddings, gemma3.attn_scale) == (256, True, 1 / 16)
    gemma2 = read(tmp_path, "gemma2", sliding_window=7)
    assert [gemma2.window(layer) for layer in range(3)] == [7, 0, 7]
    assert (gemma2.attn_softcap, gemma2.logit_softcap) == (50, 30)
    smollm3 = read(tmp_path, "smollm3")
    assert [len(smollm3.rotation(layer).frequencies) for layer in range(5)] == [8, 8, 8, 0, 8]
    older = read(tmp_path, "gemma3_text", sliding_window_pattern=2, sliding_window=5,
                 rope_local_base_freq=50.0, rope_theta=9.0)  # fmt: skip
    assert older.windows == (5, 0)
    assert older.rotation(0).frequencies[1] == 50 ** -(2 / 256)
    assert older.rotation(1).frequencies[1] == 9 ** -(2 / 256)


@pytest.mark.parametrize(("context", "longest"), [(64, 2.0), (65, 4.0), (None, 4.0)])
def test_longrope_factors_depend_on_the_context(
    context: int | None, longest: float, tmp_path: Path
) -> None:
    rope = {"type": "su", "short_factor": [2.0] * 8, "long_factor": [4.0] * 8}
    of = read(tmp_path, "phi3", context, rope_scaling=rope, original_max_position_embeddings=64)
    assert of.rotation(0).frequencies[0] == 1 / longest
    assert of.rotation(0).attention_factor == pytest.approx((1 + 1 / 6) ** 0.5)


LONG = {"rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [1.0] * 7}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("gemma3", {}, f"The model_type 'gemma3' is not one of: {', '.join(MODEL_TYPES)}"),
    ("llama", {"hidden_act": "gelu"}, "The activation 'gelu' is not silu"),
    ("gemma2", {"hidden_activation": "gelu"}, "'gelu' is not gelu_pytorch_tanh"),
    ("gemma3_text", {"use_bidirectional_attention": True}, "bidirectional_attention is not supp"),
    ("qwen2", {"use_sliding_window": True}, "use_sliding_window requires layer_types"),
    ("gemma2", {"layer_types": [FULL] * 11}, "has 11 entries, but the model has 12 layers"),
    ("gemma2", {"layer_types": ["linear_attention"]}, "layer type 'linear_attention' is not full"),
    ("gemma2", {"sliding_window": -3}, "The attention window, -3, is not in 0"),
    ("gemma2", {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar, 0, is not above 0"),
    ("gemma2", {"final_logit_softcapping": -1}, "logit_softcap, -1.0, is not finite and ≥ 0"),
    ("gemma2", {"attn_logit_softcapping": float("inf")}, "attn_softcap, inf, is not finite and"),
    ("gemma3_text", {"sliding_window_pattern": 1 << 40}, "1099511627776, is not in 1"),
    ("smollm3", {"no_rope_layers": [1, 0]}, "has 2 entries, but the model has 12 layers"),
    ("smollm3", {"no_rope_layer_interval": 0}, "no_rope_layer_interval, 0, is not in 1"),
    ("phi3", {"partial_rotary_factor": 2.0}, "RoPE of 32 columns exceeds the head size, 16"),
    ("phi3", {"partial_rotary_factor": 0.0}, "RoPE of 0 columns is not in 2"),
    ("phi3", {"rope_scaling": {"rope_type": "dynamic"}}, "rope_type 'dynamic' is not supported"),
    ("qwen2", {"rope_scaling": {"type": "yarn", "factor": 0.5}}, "factor, 0.5, is not 1 or above"),
    ("qwen2", {"rope_scaling": {"type": "yarn", "original_max_position_embeddings": 1024}},
     "factor, 0.125, is not 1 or above"),
    ("qwen2", {"rope_scaling": {"type": "yarn", "beta_fast": 2, "beta_slow": 3}},
     "beta_slow, 3.0, is not above 0 and at most beta_fast, 2.0"),
    ("qwen2", {"rope_scaling": {"type": "yarn", "beta_slow": -1}}, "beta_slow, -1.0, is not 0 or"),
    ("qwen2", {"rope_scaling": {"type": "yarn", "mscale": float("nan")}}, "mscale, nan, is not 0"),
    ("qwen2", {"rope_scaling": {"type": "yarn", "factor": float("inf")}}, "are not finite"),
    ("qwen2", {"rope_scaling": {"type": "yarn"}, "rope_theta": 1}, "is not above 1, which YaRN"),
    ("qwen2", {"rope_scaling": {"type": "yarn", "factor": "x"}}, "Cannot read"),
    ("phi3", {"rope_scaling": LONG, "original_max_position_embeddings": 16},
     r"long_factor has shape \[7\] or a factor that is not above 0; expected \[8\]"),
    ("phi3", {"rope_scaling": {**LONG, "attention_factor": float("nan")}}, "are not finite"),
    ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 1e-320}}, "are not finite"),
    ("llama", {"rope_parameters": [1]}, "Cannot read"),
]  # fmt: skip


@pytest.mark.parametrize(("model_type", "overrides", "message"), REFUSED)
def test_what_is_refused(
    model_type: str, overrides: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ImportFailure, match=message):
        read(tmp_path, model_type, **overrides)


def test_scores_of_the_largest_gemma(tmp_path: Path) -> None:
    """With 46 and 62 layers, scores are divide_by_factors by the root of hidden size per head."""
    for architecture, layers, scale in (("gemma2", 46, 8**-0.5), ("gemma3", 62, 8**-0.5),
                                        ("gemma2", 42, 0.0)):  # fmt: skip
        metadata = tiny_metadata(architecture)
        metadata[f"{architecture}.block_count"] = layers
        metadata[f"{architecture}.attention.key_length"] = 16
        metadata[f"{architecture}.attention.sliding_window"] = 4
        path = tmp_path / "m.gguf"
        path.write_bytes(file_bytes(metadata, tiny_tensors(architecture=architecture)))
        found = read_gguf(GgufModel(path))
        assert found.attn_scale == scale
        model_type = MODEL_TYPES[{"gemma3": "gemma3_text"}.get(architecture, architecture)]
        layer_types = model_type.traits.layer_types
        assert found.windows == tuple(4 if kind == SLIDING else 0 for kind in layer_types)
