"""Hugging Face directories compared with eager models of transformers: equal greedy tokens."""

from __future__ import annotations

import copy
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
import transformers
from safetensors.torch import load_file, save_file  # type: ignore[import]
from spirloom import graph_file
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.family.config import FULL, SLIDING
from spirloom.hf import import_directory
from spirloom.hf.config import MODEL_TYPES, read_config
from spirloom.ir import DType
from spirloom.ops import own_library
from spirloom.passes.weight_quantization import Quantization
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from op_specs.sampling import sampling

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 5000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 5000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}
NO_PADDING = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # beyond the vocabulary
LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.75,
    "short_factor": np.linspace(1.0, 2.0, 6).tolist(),
    "long_factor": np.linspace(1.5, 12.0, 6).tolist(),
}


def long_rope(original: int) -> dict[str, Any]:
    """LongRoPE of 12 of 16 columns; Phi-4 rotates 96 of 128."""
    return {"rope_parameters": LONG_ROPE, "original_max_position_embeddings": original}


CONFIGS: dict[str, Any] = {
    "llama": lambda **more: transformers.LlamaConfig(**SIZES | more, tie_word_embeddings=True),
    "llama3": lambda **more: transformers.LlamaConfig(**SIZES | more, rope_scaling=LLAMA3),
    "mistral": lambda **more: transformers.MistralConfig(**SIZES | more, sliding_window=24),
    "qwen2": lambda **more: transformers.Qwen2Config(**SIZES | more),
    "qwen2, yarn": lambda **more: transformers.Qwen2Config(**SIZES | more, rope_scaling=YARN),
    "qwen3": lambda **more: transformers.Qwen3Config(**SIZES | more, head_dim=32),
    "qwen2, some layers with a window": lambda **more: transformers.Qwen2Config(
        **SIZES | more, use_sliding_window=True, sliding_window=9, max_window_layers=1
    ),
    "smollm3": lambda **more: transformers.SmolLM3Config(
        **SIZES | NO_PADDING | more, no_rope_layer_interval=2
    ),
    "phi3": lambda **more: transformers.Phi3Config(**SIZES | NO_PADDING | more, sliding_window=9),
    "phi4, long": lambda **more: transformers.Phi3Config(
        **SIZES | NO_PADDING | more, **long_rope(8)
    ),
    "phi4, short": lambda **more: transformers.Phi3Config(
        **SIZES | NO_PADDING | {"max_position_embeddings": 512} | more,
        **long_rope(256),
    ),
    "olmo2": lambda **more: transformers.Olmo2Config(**SIZES | NO_PADDING | more),
    "olmo2, tied, biases": lambda **more: transformers.Olmo2Config(
        **SIZES | NO_PADDING | more, tie_word_embeddings=True, attention_bias=True
    ),
    "glm": lambda **more: transformers.GlmConfig(**SIZES | NO_PADDING | more, head_dim=16),
    "glm4": lambda **more: transformers.Glm4Config(**SIZES | NO_PADDING | more, head_dim=16),
    "gemma": lambda **more: transformers.GemmaConfig(**SIZES | more, head_dim=32),
    "gemma2": lambda **more: transformers.Gemma2Config(
        **SIZES | more,
        head_dim=32,
        sliding_window=11,
        query_pre_attn_scalar=20,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    ),
    "gemma3": lambda **more: transformers.Gemma3TextConfig(
        **SIZES | more,
        head_dim=32,
        sliding_window=10,
        layer_types=[SLIDING, FULL, SLIDING][: more.get("num_hidden_layers", 2)],
        query_pre_attn_scalar=24,
        rope_parameters={
            FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 50000.0},
            SLIDING: {"rope_type": "default", "rope_theta": 100.0},
        },
    ),
}
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 90, 7, 9]


def saved(name: str, folder: Path, **sizes: int) -> Any:
    """A model with random weights, large enough that tokens differ."""
    torch.manual_seed(1)
    config = CONFIGS[name](**sizes)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for parameter in model.parameters():
        # Norms included, whose initial weights are 1, or 0 for Gemma.
        scale = 0.3 if parameter.ndim > 1 else 0.1
        parameter.data += torch.normal(0.0, scale, parameter.shape)
    if name.startswith("gemma"):  # scales embeddings, would repeat one token
        model.model.embed_tokens.weight.data /= config.hidden_size**0.5
    model.save_pretrained(folder)
    return model


def eager_tokens(model: Any, count: int) -> tuple[list[int], Any]:
    """Greedy tokens, and the logits of the first."""
    tokens, first = list(PROMPT), None
    with torch.no_grad():
        for _ in range(count):
            scores = model(torch.tensor([tokens])).logits[0, -1]
            first = scores if first is None else first
            tokens.append(int(scores.argmax()))
    return tokens[len(PROMPT) :], first


@pytest.mark.parametrize("name", CONFIGS)
def test_tokens_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    wanted, scores = eager_tokens(saved(name, tmp_path), 64)
    graphs = import_directory(tmp_path, context=128, max_prefill=16)
    check_tokens(graph_file.to_bytes(*graphs), wanted, scores)


@pytest.mark.parametrize("name", ["llama", "qwen2", "gemma3"])
def test_bfloat16_weights_are_kept(name: str, tmp_path: Path) -> None:
    """Weights have the values of the file, in half the bytes; all else is float32."""
    model = saved(name, tmp_path)
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    wanted, scores = eager_tokens(model, 64)
    rounded = tmp_path / "rounded"
    rounded.mkdir()
    for source in tmp_path.glob("*.json"):
        (rounded / source.name).write_bytes(source.read_bytes())
    model.save_pretrained(tmp_path)
    copy.deepcopy(model).bfloat16().save_pretrained(rounded)
    plain, data, same = (
        graph_file.to_bytes(*import_directory(path, context=128, max_prefill=16, quantize=how))
        for path, how in (
            (tmp_path, None),
            (rounded, None),
            (rounded, Quantization.of("bf16")),
        )
    )
    assert data == same
    matrices = {p.data_ptr(): p.numel() for p in model.parameters() if p.ndim > 1}
    saved_bytes = 2 * sum(matrices.values())
    assert abs(len(plain) - len(data) - saved_bytes) < 1000
    check_tokens(data, wanted, scores)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_float8_weights_are_kept(dtype: torch.dtype, tmp_path: Path) -> None:
    """A checkpoint with f8 matrices, each with a scale per row or one in all."""
    model = saved("llama", tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    parameters = dict(model.named_parameters())
    for name, weight in list(tensors.items()):
        if not name.endswith("proj.weight"):
            continue
        per_row = "mlp" in name
        scale = weight.abs().amax(1, keepdim=True) if per_row else weight.abs().amax()[None]
        scale = scale / torch.finfo(dtype).max
        tensors[name] = (weight / scale).to(dtype)
        tensors[f"{name}_scale"] = scale
        parameters[name].data = tensors[name].float() * scale
    save_file(tensors, tmp_path / "model.safetensors")
    library = own_library()
    methods = import_directory(tmp_path, context=128, max_prefill=16, library=library)
    ops = {node.op for node in methods[1].nodes}
    assert {"spirloom.linear_f8", "spirloom.gated_linear_f8"} <= ops
    check_tokens(graph_file.to_bytes(*methods), *eager_tokens(model, 64))
    first = next(name for name, each in tensors.items() if each.dtype is dtype)
    tensors[f"{first}_scale_inv"] = torch.ones(2, 2)
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ImportFailure, match="scales per block, which are not supported"):
        import_directory(tmp_path, context=128)


# Maximum errors of logits relative to their maximum.
@pytest.mark.parametrize(
    ("name", "kv_cache", "limit"),
    [
        ("qwen3", "f16", 5e-3),
        ("qwen3", "f8_e4m3", 0.3),
        ("qwen3", "int8", 0.06),
        ("gemma2", "bf16", 0.05),
        ("gemma2", "int8", 0.06),
        ("gemma2, split", "f8_e5m2", 0.4),
        ("qwen3, split", "int8", 0.06),
    ],
)
def test_kv_caches_of_fewer_bits(name: str, kv_cache: str, limit: float, tmp_path: Path) -> None:
    """QK norm, sliding windows and soft caps; prefill in chunks, and decoding."""
    name, _, splits = name.partition(", ")
    model = saved(name, tmp_path)
    wanted = [model(torch.tensor([PROMPT[:n]])).logits[0, -1].detach() for n in (13, 14)]
    methods = import_directory(
        tmp_path, context=128, max_prefill=16, kv_cache=kv_cache, library=own_library()
    )
    kernels = (f"decode_attention_stored_{splits}",) if splits else ()
    prefill = spirloom.load(graph_file.to_bytes(*methods), kernels=kernels)
    decode = prefill.context("decode", share_states=True)
    for chunks in ([13], [5, 1, 7]):
        prefill.reset_states()
        begin = 0
        for chunk in chunks:
            (logits,) = prefill(np.array([PROMPT[begin : begin + chunk]], np.int32))
            begin += chunk
        decode.states["token"] = np.array(PROMPT[13:], np.int32)
        (next_logits,) = decode()
        for found, exact in zip((logits, next_logits), wanted, strict=True):
            error = np.abs(found[0] - exact.numpy()).max() / exact.abs().max()
            assert error <= limit


def check_tokens(data: bytes, wanted: list[int], scores: Any) -> None:
    """Compares the logits of the prompt, and the generated tokens."""
    assert len(set(wanted)) > 4, "the model generates different tokens"
    prefill = spirloom.load(data)
    decode = prefill.context("decode", share_states=True)
    for chunks in ([14], [5, 1, 8]):
        prefill.reset_states()
        begin = 0
        for chunk in chunks:
            (logits,) = prefill(np.array([PROMPT[begin : begin + chunk]], np.int32))
            begin += chunk
        np.testing.assert_allclose(logits[0], scores, rtol=1e-4, atol=1e-4)
        decode.submit_repeated(1).result()
        decode.submit_repeated(62).result()
        assert decode.states["position"].tolist() == [len(PROMPT) + 63]
        assert decode.states["tokens"][len(PROMPT) : len(PROMPT) + 64].tolist() == wanted


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


LAYERS = {
    "llama": 5,
    "qwen3": 5,
    "smollm3": 5,
    "phi3": 5,
    "gemma": 5,
    "olmo2": 12,
    "glm4": 9,
    "gemma2": 9,
    "gemma3": 9,
}


@pytest.mark.parametrize(
    ("name", "quantized"),
    [
        *((name, "") for name in LAYERS),
        *((name, "int4:32") for name in ("llama", "qwen3", "gemma2")),
        ("llama", "bf16"),
    ],
)
def test_a_layer_is_five_dispatches(name: str, quantized: str, tmp_path: Path) -> None:
    """QKV, cached attention, output, gate and up, down: the difference of one more layer. Two
    post-norms with residual adds need four more; joint norms of Q and K with a cat, three."""
    counts = []
    for layers in (2, 3):
        directory = tmp_path / str(layers)
        saved(name, directory, num_hidden_layers=layers)
        output = directory / "net.slg"
        line = ["import", str(directory), "-o", str(output)]
        assert main([*line, "--quantize", quantized] if quantized else line) == 0
        prefill = spirloom.load(output)
        decode = prefill.context("decode", share_states=True)
        counts.append(decode.stats.dispatches)
    assert counts[1] - counts[0] == LAYERS[name]


def test_tokens_are_sampled(tmp_path: Path) -> None:
    """The tokens are the Gumbel-max samples of the logits after transformers' warpers."""
    model = saved("llama", tmp_path)
    data = graph_file.to_bytes(*import_directory(tmp_path, max_prefill=16))
    prefill = spirloom.load(data)
    decode = prefill.context("decode", share_states=True)
    how = {"temperature": 6.0, "top_k": 30, "top_p": 0.8, "seed": 5}
    for key, value in how.items():
        kind = prefill.states[key].dtype
        decode.states[key] = np.array([value], kind)
    prefill(np.array([PROMPT], np.int32))
    decode.submit_repeated(31).result()
    found = decode.states["tokens"][: len(PROMPT) + 32].tolist()
    found[: len(PROMPT)] = PROMPT
    warpers = [
        transformers.TemperatureLogitsWarper(how["temperature"]),
        transformers.TopKLogitsWarper(int(how["top_k"])),
        transformers.TopPLogitsWarper(how["top_p"]),
    ]
    wanted = list(PROMPT)
    with torch.no_grad():
        for position in range(len(PROMPT), len(found)):
            scores = model(torch.tensor([wanted])).logits[:, -1]
            for warper in warpers:
                scores = warper(None, scores)
            noise = sampling.gumbel_noise(scores.shape[1], position, int(how["seed"]))
            wanted.append(int((scores[0].double() + torch.from_numpy(noise)).argmax()))
    assert found == wanted
    assert len(set(wanted)) > 16, "sampling is random"


def test_caches_are_neither_copied_nor_doubled(tmp_path: Path) -> None:
    saved("llama", tmp_path)
    data = graph_file.to_bytes(*import_directory(tmp_path, max_prefill=16))
    prefill = spirloom.load(data)
    decode = prefill.context("decode", share_states=True)
    caches = 2 * 2 * 128 * 2 * 16 * 4
    assert caches <= prefill.stats.state_bytes < caches + 8192
    assert decode.stats.state_bytes == 0
    assert decode.stats.planned_bytes < caches
    copied = [row for row in decode.profile() if row.op == "copy"]
    assert [row.node for row in copied] == ["position"]


@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_keys_split_over_workgroups(name: str, tmp_path: Path) -> None:
    """The kernels of GPUs, which split the keys of a head."""
    wanted, _ = eager_tokens(saved(name, tmp_path), 100)
    data = graph_file.to_bytes(*import_directory(tmp_path, max_prefill=14))
    prefill = spirloom.load(data, kernels=("decode_attention_split",))
    decode = prefill.context("decode", share_states=True)
    assert any("partials" in row.variant for row in decode.profile())
    prefill.reset_states()
    prefill(np.array([PROMPT], np.int32))
    decode.submit_repeated(99).result()
    assert decode.states["tokens"][14:114].tolist() == wanted


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2"])
def test_a_long_prompt_in_chunks(name: str, tmp_path: Path) -> None:
    """In two chunks, with an empty and with a filled KV cache."""
    model = saved(name, tmp_path)
    prompt = PROMPT * 5
    with torch.no_grad():
        scores = model(torch.tensor([prompt])).logits[0, -1]
    prefill = spirloom.load(graph_file.to_bytes(*import_directory(tmp_path, max_prefill=40)))
    for begin, end in ((0, 33), (33, 70)):
        (logits,) = prefill(np.array([prompt[begin:end]], np.int32))
    # GPUs use tiles of queries, CPUs a cluster of invocations per query.
    kernels = ("cached_attention_tiled", "cached_attention_cluster")
    assert any(row.variant.startswith(kernels) for row in prefill.profile())
    np.testing.assert_allclose(logits[0], scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", LAYERS)
def test_fp16(name: str, tmp_path: Path) -> None:
    _, scores = eager_tokens(saved(name, tmp_path), 1)
    data = graph_file.to_bytes(*import_directory(tmp_path, max_prefill=16, dtype=DType.F16))
    (logits,) = spirloom.load(data)(np.array([PROMPT], np.int32))
    np.testing.assert_allclose(logits[0], scores, rtol=0.05, atol=0.05 * float(scores.abs().max()))


@pytest.mark.parametrize("bits", ["", "int4:32"])
def test_large_weights_are_split(
    bits: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Layers and the token embedding, by the caller's limit; on symbolic sizes too."""
    caplog.set_level(logging.INFO, "spirloom")
    how = Quantization.of(bits) if bits else None
    _, scores = eager_tokens(saved("llama", tmp_path), 1)
    whole, split = (
        import_directory(tmp_path, max_prefill=16, max_binding=limit, quantize=how)
        for limit in (1 << 27, 1024 if bits else 8192)
    )
    assert len(split[1].nodes) > len(whole[1].nodes)
    assert "several sizes" not in caplog.text
    results = [
        spirloom.load(graph_file.to_bytes(*graphs))(np.array([PROMPT], np.int32))[0]
        for graphs in (whole, split)
    ]
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-4)
    if not bits:
        np.testing.assert_allclose(results[0][0], scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mebibytes", ["0", "-1", "4096"])
def test_a_max_binding_out_of_range_is_refused(
    mebibytes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved("llama", tmp_path)
    output = tmp_path / "net.slg"
    assert main(["import", str(tmp_path), "-o", str(output), "--max-binding", mebibytes]) == 1
    error = capsys.readouterr().err
    assert str(int(mebibytes) << 20) in error and "is not in 1 … 4294967295" in error
    assert not output.exists()


def test_the_command_writes_both_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved("llama", tmp_path)
    output = tmp_path / "net.slg"
    line = ["import", str(tmp_path), "-o", str(output), "--context", "64", "--max-prefill", "8"]
    assert main(line) == 0
    assert f"{output}: prefill: " in capsys.readouterr().out
    assert spirloom.load(output).methods == ("prefill", "decode")


def test_invalid_directories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="the directory has no config.json"):
        import_directory(tmp_path)
    saved("llama", tmp_path)
    with pytest.raises(ImportFailure, match="A prefill of 200 tokens is not in 1 … 128"):
        import_directory(tmp_path, max_prefill=200)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    with pytest.raises(ImportFailure, match="but its header needs"):
        import_directory(tmp_path)
