"""Keys of config.json: their effect, and their defaults compared with transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
import transformers
from spirloom import graph_file
from spirloom.family.config import FULL, SLIDING
from spirloom.hf import import_directory
from spirloom.hf.config import MODEL_TYPES, read_config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from tests.torch.language_models import (
    LONG_ROPE,
    NO_PADDING,
    PROMPT,
    SIZES,
    YARN,
    eager_tokens,
    saved,
)

# Keys of config.json, and other values for them.
CHANGED_KEYS: list[tuple[str, str, Any]] = [
    ("qwen2, some layers with a window", "layer_types", [FULL, FULL]),
    ("qwen2, yarn", "rope_parameters", {**YARN, "factor": 2.0, "attention_factor": 1.139}),
    ("qwen2, yarn", "rope_parameters", {**YARN, "attention_factor": 1.0}),
    ("smollm3", "no_rope_layers", [1, 1]),
    ("phi3", "sliding_window", None),
    ("phi4, long", "original_max_position_embeddings", 256),
    ("phi4, long", "rope_parameters", {**LONG_ROPE, "attention_factor": 1.0}),
    ("phi4, long", "rope_parameters", {**LONG_ROPE, "partial_rotary_factor": 0.5,
                                       "long_factor": [1.5, 3.0, 5.0, 7.0]}),
    ("glm", "rope_parameters", {"rope_type": "default", "rope_theta": 10000.0,
                                "partial_rotary_factor": 0.75}),
    ("gemma2", "layer_types", [FULL, SLIDING]),
    ("gemma2", "query_pre_attn_scalar", 32),
    ("gemma2", "attn_logit_softcapping", None),
    ("gemma2", "final_logit_softcapping", None),
    ("gemma3", "sliding_window", None),
    ("gemma3", "query_pre_attn_scalar", 32),
    ("gemma3", "rope_parameters", {FULL: {"rope_type": "linear", "factor": 8.0,
                                          "rope_theta": 50000.0}}),
    ("gemma3", "rope_parameters", {FULL: {"rope_type": "default", "rope_theta": 50000.0},
                                   SLIDING: {"rope_type": "default", "rope_theta": 100.0}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "key", "other"), CHANGED_KEYS)
def test_config_keys_have_an_effect(name: str, key: str, other: Any, tmp_path: Path) -> None:
    """Another value changes the logits, so the tests above would find a key that is ignored."""
    _, scores = eager_tokens(saved(name, tmp_path), 1)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, key: other}))
    (logits,) = spirloom.load(graph_file.to_bytes(*import_directory(tmp_path, max_prefill=16)))(
        np.array([PROMPT], np.int32)
    )
    assert np.abs(logits[0] - scores.numpy()).max() > 1e-2 * scores.abs().max()


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_defaults_of_config_keys_equal_transformers(model_type: str, tmp_path: Path) -> None:
    sizes = {**SIZES, **NO_PADDING, "num_hidden_layers": 12, "rms_norm_eps": 1e-5}
    theirs = transformers.AutoConfig.for_model(model_type, **sizes)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type, **sizes}))
    ours = read_config(tmp_path / "config.json")

    def value(key: str, default: Any) -> Any:
        return getattr(theirs, key, None) or default

    types = value("layer_types", [SLIDING] * 12)
    window = value("sliding_window", 0)
    assert [ours.window(i) for i in range(12)] == [window * (kind == SLIDING) for kind in types]
    assert ours.head_size == value("head_dim", 16)
    assert ours.attn_scale == value("query_pre_attn_scalar", np.inf) ** -0.5
    assert ours.attn_softcap == value("attn_logit_softcapping", 0)
    assert ours.logit_softcap == value("final_logit_softcapping", 0)
    assert ours.tied_embeddings == theirs.tie_word_embeddings
    for layer, has_rope in enumerate(value("no_rope_layers", [1] * 12)):
        rope = theirs.rope_parameters.get(types[layer], theirs.rope_parameters)
        columns = ours.head_size * rope.get("partial_rotary_factor", 1.0)
        wanted = [rope["rope_theta"] ** -(2 / columns)] if has_rope else []
        np.testing.assert_allclose(ours.rotation(layer).frequencies[1:2], wanted)


# Model type, rope_scaling, and further keys of config.json. Heads have 16 columns.
YARNS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("qwen2", {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}, {}),
    ("qwen2", {"factor": 40.0, "original_max_position_embeddings": 4096}, {"rope_theta": 1e6}),
    ("qwen2", {"factor": 2.0}, {}),
    ("qwen2", {"factor": 1.0, "original_max_position_embeddings": 64}, {}),
    ("qwen2", {"factor": None, "original_max_position_embeddings": 16}, {}),
    ("qwen2", {"factor": 4.0, "beta_fast": 3, "beta_slow": 0.25}, {}),
    ("qwen2", {"factor": 4.0, "beta_fast": 3, "beta_slow": 0.25, "truncate": False}, {}),
    ("qwen2", {"factor": 4.0, "beta_fast": 2, "beta_slow": 2, "truncate": False}, {}),
    ("qwen2", {"factor": 4.0, "beta_fast": 900, "beta_slow": 800}, {}),
    ("qwen2", {"factor": 4.0, "original_max_position_embeddings": 10**9}, {}),
    ("qwen2", {"factor": 8.0, "attention_factor": 0.75, "mscale": 1.0}, {}),
    ("qwen2", {"factor": 8.0, "mscale": 1.0}, {}),
    ("qwen2", {"factor": 8.0, "mscale": 1.0, "mscale_all_dim": 0.0}, {}),
    ("qwen2", {"factor": 8.0, "mscale": 0.707, "mscale_all_dim": 1.5}, {}),
    ("qwen2", {"factor": 4.0, "original_max_position_embeddings": 64},
     {"original_max_position_embeddings": 24}),
    ("glm", {"factor": 4.0, "original_max_position_embeddings": 32}, {"head_dim": 16}),
]  # fmt: skip


@pytest.mark.parametrize(("model_type", "rope", "more"), YARNS)
def test_yarn_equals_transformers(
    model_type: str, rope: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    config: dict[str, Any] = {**SIZES, **NO_PADDING, "rms_norm_eps": 1e-5, **more}
    config["rope_scaling"] = rope if "type" in rope else {"rope_type": "yarn", **rope}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type, **config}))
    theirs = transformers.AutoConfig.for_model(model_type, **json.loads(json.dumps(config)))
    frequencies, factor = ROPE_INIT_FUNCTIONS["yarn"](theirs, torch.device("cpu"))
    found = read_config(tmp_path / "config.json").rotation(0)
    np.testing.assert_allclose(found.frequencies, frequencies.double().numpy(), rtol=2e-6)
    assert found.attention_factor == pytest.approx(factor, rel=1e-12)
