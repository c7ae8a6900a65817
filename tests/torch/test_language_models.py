"""Folders of Hugging Face against transformers' eager models: the same tokens, greedily."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
import transformers
from spirloom import graph_file
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.family import decoder
from spirloom.family.config import FULL, SLIDING
from spirloom.hf import import_folder
from spirloom.hf.config import MODEL_TYPES, read_config
from spirloom.ir import DType
from spirloom.passes.weight_quantization import Quantisation
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from op_specs.reference import sampling

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
    """Of heads of which positions turn 12 of 16 columns, as Phi 4's turn 96 of 128."""
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
    """A model with random weights, which are large enough for tokens to differ."""
    torch.manual_seed(1)
    config = CONFIGS[name](**sizes)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for parameter in model.parameters():
        # The weights of norms differ, too: they begin as 1, or of Gemma as 0.
        scale = 0.3 if parameter.ndim > 1 else 0.1
        parameter.data += torch.normal(0.0, scale, parameter.shape)
    if name.startswith("gemma"):  # which multiplies words, and would say the same one for ever
        model.model.embed_tokens.weight.data /= config.hidden_size**0.5
    model.save_pretrained(folder)
    return model


def eager_tokens(model: Any, count: int) -> tuple[list[int], Any]:
    """Greedily chosen tokens, and the scores that the first one is of."""
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
    check_tokens(
        graph_file.to_bytes(*import_folder(tmp_path, context=128, prompt=16)), wanted, scores
    )


@pytest.mark.parametrize("name", ["llama", "qwen2", "gemma3"])
def test_a_model_of_bfloat16_keeps_its_weights(name: str, tmp_path: Path) -> None:
    """Their numbers are those of the file, in half the bytes, and all else is float32."""
    model = saved(name, tmp_path)
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    copy.deepcopy(model).bfloat16().save_pretrained(tmp_path)
    wanted, scores = eager_tokens(model, 64)
    plain, data = (
        graph_file.to_bytes(*import_folder(tmp_path, context=128, prompt=16, quantize=how))
        for how in (None, Quantisation.of("bf16"))
    )
    matrices = {p.data_ptr(): p.numel() for p in model.parameters() if p.ndim > 1}
    saved_bytes = 2 * sum(matrices.values())
    assert abs(len(plain) - len(data) - saved_bytes) < 1000
    check_tokens(data, wanted, scores)


def check_tokens(data: bytes, wanted: list[int], scores: Any) -> None:
    """That a file of a model gives the scores of the prompt and the tokens after it."""
    assert len(set(wanted)) > 4, "the model says something"
    prefill = spirloom.load(data)
    decode = spirloom.load(data, method="decode", shares=prefill)
    for chunks in ([14], [5, 1, 8]):
        prefill.reset_states()
        begin = 0
        for chunk in chunks:
            (logits,) = prefill(np.array([PROMPT[begin : begin + chunk]], np.int32))
            begin += chunk
        np.testing.assert_allclose(logits[0], scores, rtol=1e-4, atol=1e-4)
        decode.submit_steps(1).result()
        decode.submit_steps(62).result()
        assert decode.states["position"].tolist() == [len(PROMPT) + 63]
        assert decode.states["tokens"][len(PROMPT) : len(PROMPT) + 64].tolist() == wanted


# As config.json has them, and other values of them.
TOLD: list[tuple[str, str, Any]] = [
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


@pytest.mark.parametrize(("name", "key", "other"), TOLD)
def test_what_a_config_tells_counts(name: str, key: str, other: Any, tmp_path: Path) -> None:
    """With another value the scores are others: the models above are such that show it."""
    _, scores = eager_tokens(saved(name, tmp_path), 1)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, key: other}))
    (logits,) = spirloom.load(graph_file.to_bytes(*import_folder(tmp_path, prompt=16)))(
        np.array([PROMPT], np.int32)
    )
    assert np.abs(logits[0] - scores.numpy()).max() > 1e-2 * scores.abs().max()


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_what_a_config_leaves_out_is_as_in_transformers(model_type: str, tmp_path: Path) -> None:
    sizes = {**SIZES, **NO_PADDING, "num_hidden_layers": 12, "rms_norm_eps": 1e-5}
    theirs = transformers.AutoConfig.for_model(model_type, **sizes)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type, **sizes}))
    ours = read_config(tmp_path / "config.json")

    def told(key: str, default: Any) -> Any:
        return getattr(theirs, key, None) or default

    types = told("layer_types", [SLIDING] * 12)
    window = told("sliding_window", 0)
    assert [ours.window(i) for i in range(12)] == [window * (kind == SLIDING) for kind in types]
    assert ours.head_size == told("head_dim", 16)
    assert ours.scale == told("query_pre_attn_scalar", np.inf) ** -0.5
    assert ours.score_cap == told("attn_logit_softcapping", 0)
    assert ours.logit_cap == told("final_logit_softcapping", 0)
    assert ours.tied == theirs.tie_word_embeddings
    for layer, turned in enumerate(told("no_rope_layers", [1] * 12)):
        rope = theirs.rope_parameters.get(types[layer], theirs.rope_parameters)
        columns = ours.head_size * rope.get("partial_rotary_factor", 1.0)
        wanted = [rope["rope_theta"] ** -(2 / columns)] if turned else []
        np.testing.assert_allclose(ours.rotation(layer).frequencies[1:2], wanted)


# Of heads of 16 columns, and what else config.json tells.
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
def test_yarn_is_as_in_transformers(
    model_type: str, rope: dict[str, Any], more: dict[str, Any], tmp_path: Path
) -> None:
    told: dict[str, Any] = {**SIZES, **NO_PADDING, "rms_norm_eps": 1e-5, **more}
    told["rope_scaling"] = rope if "type" in rope else {"rope_type": "yarn", **rope}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type, **told}))
    theirs = transformers.AutoConfig.for_model(model_type, **json.loads(json.dumps(told)))
    frequencies, factor = ROPE_INIT_FUNCTIONS["yarn"](theirs, torch.device("cpu"))
    found = read_config(tmp_path / "config.json").rotation(0)
    np.testing.assert_allclose(found.frequencies, frequencies.double().numpy(), rtol=2e-6)
    assert found.factor == pytest.approx(factor, rel=1e-12)


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
    ("name", "quantised"),
    [
        *((name, "") for name in LAYERS),
        *((name, "int4:32") for name in ("llama", "qwen3", "gemma2")),
        ("llama", "bf16"),
    ],
)
def test_a_layer_is_five_dispatches(name: str, quantised: str, tmp_path: Path) -> None:
    """QKV, attention with caches, output, gate and up, down: counted by one layer more.
    Where what is added is normed, too, that and the sums are four more; norms of queries and of
    keys as a whole, and what joins them and the values again, three."""
    counts = []
    for layers in (2, 3):
        folder = tmp_path / str(layers)
        saved(name, folder, num_hidden_layers=layers)
        output = folder / "net.slg"
        line = ["import", str(folder), "-o", str(output)]
        assert main([*line, "--quantize", quantised] if quantised else line) == 0
        prefill = spirloom.load(output)
        decode = spirloom.load(output, method="decode", shares=prefill)
        counts.append(decode.stats.dispatches)
    assert counts[1] - counts[0] == LAYERS[name]


def test_tokens_are_sampled(tmp_path: Path) -> None:
    """The tokens drawn are those that transformers' warpers leave, of the greatest noisy score."""
    model = saved("llama", tmp_path)
    data = graph_file.to_bytes(*import_folder(tmp_path, prompt=16))
    prefill = spirloom.load(data)
    decode = spirloom.load(data, method="decode", shares=prefill)
    how = {"temperature": 6.0, "top_k": 30, "top_p": 0.8, "seed": 5}
    for key, value in how.items():
        kind = prefill.states[key].dtype
        decode.states[key] = np.array([value], kind)
    prefill(np.array([PROMPT], np.int32))
    decode.submit_steps(31).result()
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
            noise = sampling.noise(scores.shape[1], position, int(how["seed"]))
            wanted.append(int((scores[0].double() + torch.from_numpy(noise)).argmax()))
    assert found == wanted
    assert len(set(wanted)) > 16, "chance had a part in it"


def test_caches_are_neither_copied_nor_doubled(tmp_path: Path) -> None:
    saved("llama", tmp_path)
    data = graph_file.to_bytes(*import_folder(tmp_path, prompt=16))
    prefill = spirloom.load(data)
    decode = spirloom.load(data, method="decode", shares=prefill)
    caches = 2 * 2 * 128 * 2 * 16 * 4
    assert caches <= prefill.stats.state_bytes < caches + 8192
    assert decode.stats.state_bytes == 0
    assert decode.stats.planned_bytes < caches
    copied = [row for row in decode.profile() if row.op == "copy"]
    assert [row.node for row in copied] == ["position"]


@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_long_contexts_are_looked_at_in_parts(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, _ = eager_tokens(saved(name, tmp_path), 20)
    monkeypatch.setattr(decoder, "PARTS", 3)
    monkeypatch.setattr(decoder, "_WHOLE", 28)
    graphs = import_folder(tmp_path, prompt=14)
    assert any(n.op == "spirloom.join_attention" for n in graphs[1].nodes)
    data = graph_file.to_bytes(*graphs)
    prefill = spirloom.load(data)
    decode = spirloom.load(data, method="decode", shares=prefill)
    prefill(np.array([PROMPT], np.int32))
    decode.submit_steps(19).result()
    assert decode.states["tokens"][14:34].tolist() == wanted


@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2"])
def test_a_long_prompt_in_chunks(name: str, tmp_path: Path) -> None:
    """In chunks that begin where the caches are empty, and where they are not."""
    model = saved(name, tmp_path)
    prompt = PROMPT * 5
    with torch.no_grad():
        scores = model(torch.tensor([prompt])).logits[0, -1]
    prefill = spirloom.load(graph_file.to_bytes(*import_folder(tmp_path, prompt=40)))
    for begin, end in ((0, 33), (33, 70)):
        (logits,) = prefill(np.array([prompt[begin:end]], np.int32))
    # A GPU has a block of queries look at a key together, a CPU a cluster of lanes at each query.
    kernels = ("cached_attention_block", "cached_attention_cluster")
    assert any(row.variant.startswith(kernels) for row in prefill.profile())
    np.testing.assert_allclose(logits[0], scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", LAYERS)
def test_halves(name: str, tmp_path: Path) -> None:
    _, scores = eager_tokens(saved(name, tmp_path), 1)
    data = graph_file.to_bytes(*import_folder(tmp_path, prompt=16, dtype=DType.F16))
    (logits,) = spirloom.load(data)(np.array([PROMPT], np.int32))
    np.testing.assert_allclose(logits[0], scores, rtol=0.05, atol=0.05 * float(scores.abs().max()))


def test_large_weights_come_in_parts(tmp_path: Path) -> None:
    """Layers and the table of words, as many parts as the caller's limit asks for."""
    _, scores = eager_tokens(saved("llama", tmp_path), 1)
    whole, parted = (import_folder(tmp_path, prompt=16, largest=most) for most in (1 << 27, 8192))
    assert len(parted[1].nodes) > len(whole[1].nodes)
    for graphs in (whole, parted):
        (logits,) = spirloom.load(graph_file.to_bytes(*graphs))(np.array([PROMPT], np.int32))
        np.testing.assert_allclose(logits[0], scores, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mebibytes", ["0", "-1", "4096"])
def test_a_limit_of_weights_is_one_that_devices_may_have(
    mebibytes: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved("llama", tmp_path)
    output = tmp_path / "net.slg"
    assert main(["import", str(tmp_path), "-o", str(output), "--largest-weight", mebibytes]) == 1
    said = capsys.readouterr().err
    assert str(int(mebibytes) << 20) in said and "within 1 and 4294967295" in said
    assert not output.exists()


def test_the_command_writes_both_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved("llama", tmp_path)
    output = tmp_path / "net.slg"
    line = ["import", str(tmp_path), "-o", str(output), "--context", "64", "--prompt", "8"]
    assert main(line) == 0
    assert f"{output}: prefill: " in capsys.readouterr().out
    assert spirloom.load(output).methods == ("prefill", "decode")


def test_what_is_no_such_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match="a folder of a language model has config.json"):
        import_folder(tmp_path)
    saved("llama", tmp_path)
    with pytest.raises(ImportFailure, match="A prompt of 200 tokens is not within 1 and 128"):
        import_folder(tmp_path, prompt=200)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    with pytest.raises(ImportFailure, match="says its header has"):
        import_folder(tmp_path)
