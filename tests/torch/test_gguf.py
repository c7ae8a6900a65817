"""GGUF files that llama.cpp's package wrote, against transformers on the dequantised weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import spirloom
import tokenizers
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from spirloom import graph_file
from spirloom.cli import main
from spirloom.gguf import import_gguf
from spirloom.gguf.blocks import BLOCKS, read_rows
from spirloom.ir import DType
from spirloom.quantized_weights import QuantizedMatrix

from tests.llm.folder import CHATML, TOKENIZERS
from tests.llm.make_tokenizers import TEXTS, random_texts
from tests.torch.gguf_files import numbers, write

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
LARGER = {**SIZES, "hidden_size": 256, "intermediate_size": 256}
NO_PADDING = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # beyond the vocabulary
FACTORS = np.linspace(1, 4, 8)
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 90, 7, 9]


def made(config: Any) -> Any:
    """A model with random weights, which are large enough for tokens to differ."""
    torch.manual_seed(1)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1 or name.endswith("bias"):
            torch.nn.init.normal_(parameter, 0.0, 0.3)
        else:  # norms, whose weights begin as 1, or of Gemma as 0
            parameter.data += torch.normal(0.0, 0.2, parameter.shape)
    if config.model_type.startswith("gemma"):  # it multiplies words, and would repeat the last one
        model.model.embed_tokens.weight.data /= config.hidden_size**0.5
    return model


def phi(original: int) -> Any:
    """Heads of which positions turn 12 of 16 columns, by factors of short or long contexts."""
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.75,
        "short_factor": np.linspace(1.0, 2.0, 6).tolist(),
        "long_factor": np.linspace(1.5, 12.0, 6).tolist(),
    }
    more = {"rope_parameters": rope, "original_max_position_embeddings": original}
    sizes = {**SIZES, "max_position_embeddings": 512}
    return made(transformers.Phi3Config(**sizes, **NO_PADDING, **more, sliding_window=9))


MODELS: dict[str, Any] = {
    "llama": lambda: made(transformers.LlamaConfig(**SIZES, tie_word_embeddings=True)),
    "qwen2": lambda: made(transformers.Qwen2Config(**SIZES)),
    "qwen3": lambda: made(transformers.Qwen3Config(**SIZES, head_dim=32)),
    "gemma": lambda: made(transformers.GemmaConfig(**SIZES, head_dim=32)),
    "phi3": lambda: phi(8),
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 5000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}
# Of which llama.cpp takes mscale to be 1.
BETAS = {"beta_fast": 4.0, "beta_slow": 0.25, "mscale": 1.0, "mscale_all_dim": 4.0}
MORE: dict[str, Any] = {
    "qwen2, yarn": lambda: made(transformers.Qwen2Config(**SIZES, rope_scaling=YARN)),
    "qwen3, yarn's betas": lambda: made(
        transformers.Qwen3Config(**SIZES, head_dim=32, rope_scaling=YARN | BETAS)
    ),
    "llama, yarn's factor": lambda: made(
        transformers.LlamaConfig(**SIZES, rope_scaling=YARN | {"attention_factor": 1.5})
    ),
    "olmo2": lambda: made(transformers.Olmo2Config(**SIZES, **NO_PADDING)),
    "phi3, short": lambda: phi(256),
    "smollm3": lambda: made(
        transformers.SmolLM3Config(**{**SIZES, "num_hidden_layers": 4}, **NO_PADDING)
    ),
    "gemma2": lambda: made(
        transformers.Gemma2Config(
            **SIZES,
            head_dim=32,
            sliding_window=11,
            query_pre_attn_scalar=32,
            attn_logit_softcapping=2.0,
            final_logit_softcapping=3.0,
        )
    ),
    "gemma3": lambda: made(
        transformers.Gemma3TextConfig(
            **{**SIZES, "num_hidden_layers": 6},
            head_dim=32,
            sliding_window=10,
            query_pre_attn_scalar=32,
            rope_parameters={
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 50000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            },
        )
    ),
}


def eager_tokens(model: Any, count: int) -> tuple[list[int], Any]:
    """Greedily chosen tokens, and the scores that the first one is of."""
    tokens, first = list(PROMPT), None
    with torch.no_grad():
        for _ in range(count):
            scores = model(torch.tensor([tokens])).logits[0, -1]
            first = scores if first is None else first
            tokens.append(int(scores.argmax()))
    return tokens[len(PROMPT) :], first


def check(model: Any, path: Path, count: int = 64) -> list[str]:
    """That scores and tokens are those of transformers; the operators of `decode`."""
    wanted, scores = eager_tokens(model, count)
    assert len(set(wanted)) > 4, "the model says something"
    graphs = import_gguf(path, context=128, prompt=16)
    data = graph_file.to_bytes(*graphs)
    prefill = spirloom.load(data)
    decode = spirloom.load(data, method="decode", shares=prefill)
    (logits,) = prefill(np.array([PROMPT], np.int32))
    assert np.abs(logits[0] - scores.numpy()).max() <= 1e-4 * scores.abs().max()
    decode.submit_steps(count - 1).result()
    assert decode.states["tokens"][len(PROMPT) : len(PROMPT) + count].tolist() == wanted
    return [node.op for node in graphs[1].nodes]


@pytest.mark.parametrize("kind", [Type.Q4_0, Type.Q8_0, Type.F16, Type.BF16])
@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_those_of_transformers(name: str, kind: Type, tmp_path: Path) -> None:
    model, path = MODELS[name](), tmp_path / "model.gguf"
    write(model, path, kind)
    found = check(model, path)
    bits = {Type.Q4_0: "_q4", Type.Q8_0: "_q8"}.get(kind)
    of = f"spirloom.{{}}{bits}".format if bits else "aten.{}".format
    gated = f"spirloom.gated_linear{bits or ''}"
    layers = [op for op in found if "linear" in op or "embedding" in op]
    layer = [of("linear"), of("linear"), gated, of("linear")]
    tied = model.config.tie_word_embeddings and not bits
    picking = "spirloom.tied_embedding" if tied else of("embedding")
    assert layers == [picking, *layer, *layer, of("linear")]


@pytest.mark.parametrize("kind", [Type.Q8_0, Type.F32])
@pytest.mark.parametrize("name", MORE)
def test_more_tokens_are_those_of_transformers(name: str, kind: Type, tmp_path: Path) -> None:
    model, path = MORE[name](), tmp_path / "model.gguf"
    write(model, path, kind)
    check(model, path)


def test_factors_of_frequencies(tmp_path: Path) -> None:
    """Llama 3's, which llama.cpp's converter computes once and keeps as a tensor."""
    model, path = MODELS["llama"](), tmp_path / "model.gguf"
    write(model, path, Type.F32, FACTORS)
    rotary = model.model.rotary_emb
    rotary.inv_freq = rotary.inv_freq / torch.from_numpy(FACTORS.astype(np.float32))
    check(model, path)


def test_types_within_a_model_differ(tmp_path: Path) -> None:
    """Values and down products of more bits, as llama.cpp's mixtures have them."""
    model, path = made(transformers.LlamaConfig(**LARGER)), tmp_path / "model.gguf"
    kinds = {
        **dict.fromkeys(("q_proj", "k_proj"), Type.Q4_0),
        **dict.fromkeys(("v_proj", "down_proj", "lm_head"), Type.Q6_K),
        "embed_tokens": Type.Q8_0,
        "o_proj": Type.Q5_0,
        "gate_proj": Type.Q5_K,
        "up_proj": Type.Q4_K,
    }
    write(model, path, kinds)
    found = check(model, path, 24)
    layer = ["linear_q4", "linear_q8", "linear_q8", "linear_q8", "linear_q4", "linear_q8"]
    layers = [op.rpartition(".")[2] for op in found if "linear" in op]
    assert layers == [*layer, *layer, "linear_q8"]


def mixed(most: Type, tied: bool) -> tuple[Any, dict[str, Type]]:
    """A model and its types as in Q4_K_M and Q5_K_M, where a table of tied words has 6 bits."""
    model = made(transformers.LlamaConfig(**LARGER, tie_word_embeddings=tied))
    smaller = ("q_proj", "k_proj", "o_proj", "gate_proj", "up_proj", "embed_tokens")
    larger = ("v_proj", "down_proj", "embed_tokens" if tied else "lm_head")
    return model, {**dict.fromkeys(smaller, most), **dict.fromkeys(larger, Type.Q6_K)}


@pytest.mark.parametrize(
    ("most", "tied"), [(Type.Q4_K, False), (Type.Q4_K, True), (Type.Q5_K, False)]
)
def test_mixtures_of_k(most: Type, tied: bool, tmp_path: Path) -> None:
    """Each layer keeps its numbers, and a table, too."""
    model, kinds = mixed(most, tied)
    write(model, tmp_path / "model.gguf", kinds)
    found = check(model, tmp_path / "model.gguf", 24)
    bits = 4 if most is Type.Q4_K else 8
    layer = [
        f"linear_q{bits}",
        "linear_q8",
        f"linear_q{bits}",
        f"gated_linear_q{bits}",
        "linear_q8",
    ]
    layers = [op.rpartition(".")[2] for op in found if "linear" in op or "embedding" in op]
    assert layers == [f"embedding_q{8 if tied else bits}", *layer, *layer, "linear_q8"]


def constants(graphs: Any) -> dict[str, Any]:
    """Those that are stored, by name."""
    tensors = [t for g in graphs for node in g.nodes for t in node.inputs() if t.data is not None]
    return {t.name: t for t in tensors}


@pytest.mark.parametrize(("dtype", "bytes_a_weight"), [(DType.F16, 0.625), (DType.F32, 0.75)])
def test_what_q4_k_takes(dtype: DType, bytes_a_weight: float, tmp_path: Path) -> None:
    model, kinds = mixed(Type.Q4_K, False)
    write(model, tmp_path / "model.gguf", kinds)
    stored = constants(import_gguf(tmp_path / "model.gguf", prompt=16, dtype=dtype))
    name = "model.layers.0.self_attn.o_proj.weight"
    parts = [t for n, t in stored.items() if n in (name, f"{name}.scales", f"{name}.offsets")]
    assert [t.dtype for t in parts] == [DType.U8, dtype, dtype]
    assert sum(t.size for t in parts) == bytes_a_weight * 256 * 256


@pytest.mark.parametrize("kind", [Type.Q4_K, Type.Q5_K, Type.Q6_K])
def test_rounding_scales_to_halves_is_small_beside_the_steps(kind: Type) -> None:
    """By the norm, not two hundredths of the error of rounding to so few bits, 0.29 steps."""
    blocks = np.ascontiguousarray(numbers(np.zeros((64, 512), np.float32), kind)).view(np.uint8)
    stored = read_rows(int(kind), blocks.reshape(64, -1))
    assert isinstance(stored, QuantizedMatrix)
    offsets = None if stored.offsets is None else stored.offsets.astype(np.float16)
    half = replace(stored, scales=stored.scales.astype(np.float16), offsets=offsets)
    error = np.linalg.norm(half.floats() - stored.floats())
    steps = np.linalg.norm(np.repeat(stored.scales, stored.group, axis=1))
    assert 0 < error < 0.02 * 0.29 * steps


@pytest.mark.parametrize("kind", [Type.Q4_0, Type.Q4_K])
def test_halves(kind: Type, tmp_path: Path) -> None:
    model, path = made(transformers.Qwen2Config(**LARGER)), tmp_path / "model.gguf"
    write(model, path, kind)
    _, scores = eager_tokens(model, 1)
    data = graph_file.to_bytes(*import_gguf(path, prompt=16, dtype=DType.F16))
    (logits,) = spirloom.load(data)(np.array([PROMPT], np.int32))
    np.testing.assert_allclose(logits[0], scores, rtol=0.05, atol=0.05 * float(scores.abs().max()))


@pytest.mark.parametrize("kind", sorted(BLOCKS))
def test_numbers_are_those_of_the_package(kind: int) -> None:
    """Bit for bit, for blocks of random bytes and for rounded weights; where there are minima, but
    for the rounding of the middle's value."""
    generator = np.random.default_rng(kind)
    values = generator.normal(0, 0.3, (6, 512)).astype(np.float32)
    rows = np.ascontiguousarray(numbers(values, Type(kind))).view(np.uint8)
    stored = read_rows(kind, rows.reshape(6, -1))
    found = stored.floats() if isinstance(stored, QuantizedMatrix) else stored
    wanted = gguf.quants.dequantize(rows.reshape(6, -1), Type(kind)).reshape(6, -1)
    rounding: Any = 0
    if isinstance(stored, QuantizedMatrix) and stored.offsets is not None:
        largest = np.abs(stored.offsets) + 16 * np.abs(stored.scales)
        rounding = np.repeat(largest * 2.0**-22, stored.group, axis=1)
    assert (np.abs(found.astype(np.float32) - wanted.astype(np.float32)) <= rounding).all()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "model.gguf", tmp_path / "net.slg"
    write(made(transformers.LlamaConfig(**LARGER)), path, {"up_proj": Type.Q4_K})
    line = ["import", str(path), "-o", str(output), "--context", "64", "--prompt", "8"]
    assert main(line) == 0
    assert f"{output}: prefill: " in capsys.readouterr().out
    whole = output.stat().st_size
    assert main([*line, "--quantize", "int8:32"]) == 0
    assert output.stat().st_size < 0.5 * whole


@pytest.mark.parametrize(
    ("name", "pre"), [("gpt2", "gpt-2"), ("llama3", "llama-bpe"), ("qwen", "qwen2")]
)
def test_the_vocabulary_is_the_tokenizer(tmp_path: Path, name: str, pre: str) -> None:
    """Tokens and text of Hugging Face's tokenizer whose vocabulary the file has."""
    content = json.loads((TOKENIZERS / f"{name}.json").read_text())["tokenizer"]
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    numbers = theirs.get_vocab(with_added_tokens=True)
    special = {token["content"] for token in content["added_tokens"]}
    words = sorted(numbers, key=numbers.__getitem__)

    def vocabulary(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(words)
        writer.add_token_types([3 if word in special else 1 for word in words])
        writer.add_token_merges([" ".join(pair) for pair in content["model"]["merges"]])
        writer.add_bos_token_id(numbers["<s>"])
        writer.add_eos_token_id(numbers["<|im_end|>"])
        writer.add_add_bos_token(True)
        writer.add_chat_template(CHATML)

    model = made(transformers.LlamaConfig(**{**SIZES, "vocab_size": len(words)}))
    write(model, tmp_path / "m.gguf", Type.F32, vocabulary=vocabulary)
    carried = import_gguf(tmp_path / "m.gguf")[0].attachments
    ours = tokenizers.Tokenizer.from_str(carried["tokenizer.json"].decode())
    for text in [*TEXTS, *random_texts(300, seed=2)]:
        tokens = ours.encode(text, add_special_tokens=False).ids
        assert tokens == theirs.encode(text, add_special_tokens=False).ids, text
        assert ours.decode(tokens) == theirs.decode(tokens)
    facts = json.loads(carried["language_model.json"])
    assert (facts["eos"], facts["bos"]) == ([numbers["<|im_end|>"]], numbers["<s>"])
    assert facts["add_bos"] and facts["chat"]["generate"] == "<|im_start|>assistant\n"
