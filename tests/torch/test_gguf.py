"""GGUF files written by llama.cpp's package, compared with transformers on dequantized weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
from spirloom.family.weights import floats_of
from spirloom.gguf import import_gguf
from spirloom.gguf.blocks import BLOCKS, decode_rows
from spirloom.ir import DType
from spirloom.quantized_weights import QuantizedMatrix

from tests.llm.make_tokenizers import TEXTS, random_texts
from tests.llm.model_directory import CHATML, TOKENIZERS
from tests.torch.gguf_files import quantized_blocks, write

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


def random_model(config: Any) -> Any:
    """A model with random weights, large enough that tokens differ."""
    torch.manual_seed(1)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1 or name.endswith("bias"):
            torch.nn.init.normal_(parameter, 0.0, 0.3)
        else:  # norms, whose initial weights are 1, or 0 for Gemma
            parameter.data += torch.normal(0.0, 0.2, parameter.shape)
    if config.model_type.startswith("gemma"):  # scales embeddings, would repeat the last token
        model.model.embed_tokens.weight.data /= config.hidden_size**0.5
    return model


def phi(original: int) -> Any:
    """Partial RoPE (12 of 16 columns) with LongRoPE factors."""
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.75,
        "short_factor": np.linspace(1.0, 2.0, 6).tolist(),
        "long_factor": np.linspace(1.5, 12.0, 6).tolist(),
    }
    more = {"rope_parameters": rope, "original_max_position_embeddings": original}
    sizes = {**SIZES, "max_position_embeddings": 512}
    return random_model(transformers.Phi3Config(**sizes, **NO_PADDING, **more, sliding_window=9))


MODELS: dict[str, Any] = {
    "llama": lambda: random_model(transformers.LlamaConfig(**SIZES, tie_word_embeddings=True)),
    "qwen2": lambda: random_model(transformers.Qwen2Config(**SIZES)),
    "qwen3": lambda: random_model(transformers.Qwen3Config(**SIZES, head_dim=32)),
    "gemma": lambda: random_model(transformers.GemmaConfig(**SIZES, head_dim=32)),
    "phi3": lambda: phi(8),
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 5000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}
# llama.cpp assumes an mscale of 1.
BETAS = {"beta_fast": 4.0, "beta_slow": 0.25, "mscale": 1.0, "mscale_all_dim": 4.0}
MORE: dict[str, Any] = {
    "qwen2, yarn": lambda: random_model(transformers.Qwen2Config(**SIZES, rope_scaling=YARN)),
    "qwen3, yarn's betas": lambda: random_model(
        transformers.Qwen3Config(**SIZES, head_dim=32, rope_scaling=YARN | BETAS)
    ),
    "llama, yarn's factor": lambda: random_model(
        transformers.LlamaConfig(**SIZES, rope_scaling=YARN | {"attention_factor": 1.5})
    ),
    "olmo2": lambda: random_model(transformers.Olmo2Config(**SIZES, **NO_PADDING)),
    "phi3, short": lambda: phi(256),
    "smollm3": lambda: random_model(
        transformers.SmolLM3Config(**{**SIZES, "num_hidden_layers": 4}, **NO_PADDING)
    ),
    "gemma2": lambda: random_model(
        transformers.Gemma2Config(
            **SIZES,
            head_dim=32,
            sliding_window=11,
            query_pre_attn_scalar=32,
            attn_logit_softcapping=2.0,
            final_logit_softcapping=3.0,
        )
    ),
    "gemma3": lambda: random_model(
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
    """Greedy tokens, and the logits of the first."""
    tokens, first = list(PROMPT), None
    with torch.no_grad():
        for _ in range(count):
            scores = model(torch.tensor([tokens])).logits[0, -1]
            first = scores if first is None else first
            tokens.append(int(scores.argmax()))
    return tokens[len(PROMPT) :], first


def check(model: Any, path: Path, count: int = 64) -> list[str]:
    """Compares logits and tokens with transformers. Returns the operators of `decode`."""
    wanted, scores = eager_tokens(model, count)
    assert len(set(wanted)) > 4, "the model generates different tokens"
    graphs = import_gguf(path, context=128, max_prefill=16)
    data = graph_file.to_bytes(*graphs)
    prefill = spirloom.load(data)
    decode = prefill.context("decode", share_states=True)
    (logits,) = prefill(np.array([PROMPT], np.int32))
    assert np.abs(logits[0] - scores.numpy()).max() <= 1e-4 * scores.abs().max()
    decode.submit_repeated(count - 1).result()
    assert decode.states["tokens"][len(PROMPT) : len(PROMPT) + count].tolist() == wanted
    return [node.op for node in graphs[1].nodes]


PROFILED = """
import cProfile, gc, sys
from spirloom.cli import main
for threshold in (2, 3, 5, 7, 11):
    gc.set_threshold(threshold, 1000)
    command = ["import", sys.argv[1], "-o", sys.argv[2]]
    assert cProfile.Profile().runcall(main, command) == 0
"""


def test_an_import_can_be_profiled(tmp_path: Path) -> None:
    """CPython 3.11.0 to 3.11.2 (gh-101975) reads freed objects in a collection under a profiler, if
    a generator whose loop has ended is running."""
    write(MODELS["llama"](), tmp_path / "net.gguf", Type.Q4_0)
    line = [sys.executable, "-c", PROFILED, str(tmp_path / "net.gguf"), str(tmp_path / "net.slg")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [Type.Q4_0, Type.Q8_0, Type.F16, Type.BF16])
@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_those_of_transformers(name: str, kind: Type, tmp_path: Path) -> None:
    model, path = MODELS[name](), tmp_path / "model.gguf"
    write(model, path, kind)
    found = check(model, path)
    suffix = {Type.Q4_0: "_w4", Type.Q8_0: "_w8", Type.BF16: "_bf16"}.get(kind)
    op_name = f"spirloom.{{}}{suffix}".format if suffix else "aten.{}".format
    gated = f"spirloom.gated_linear{suffix or ''}"
    layers = [op for op in found if "linear" in op or "embedding" in op]
    layer = [op_name("linear"), op_name("linear"), gated, op_name("linear")]
    tied = model.config.tie_word_embeddings and not suffix
    embedding = "spirloom.tied_embedding" if tied else op_name("embedding")
    assert layers == [embedding, *layer, *layer, op_name("linear")]


@pytest.mark.parametrize("kind", [Type.Q8_0, Type.F32])
@pytest.mark.parametrize("name", MORE)
def test_more_tokens_are_those_of_transformers(name: str, kind: Type, tmp_path: Path) -> None:
    model, path = MORE[name](), tmp_path / "model.gguf"
    write(model, path, kind)
    check(model, path)


def test_factors_of_frequencies(tmp_path: Path) -> None:
    """Llama 3's RoPE factors, which llama.cpp's converter stores as a tensor."""
    model, path = MODELS["llama"](), tmp_path / "model.gguf"
    write(model, path, Type.F32, FACTORS)
    rotary = model.model.rotary_emb
    rotary.inv_freq = rotary.inv_freq / torch.from_numpy(FACTORS.astype(np.float32))
    check(model, path)


def test_mixed_types(tmp_path: Path) -> None:
    """V and down projections with more bits, as in llama.cpp's mixtures."""
    model, path = random_model(transformers.LlamaConfig(**LARGER)), tmp_path / "model.gguf"
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
    layer = ["linear_w4", "linear_w8", "linear_w8", "linear_w8", "linear_w4", "linear_w8"]
    layers = [op.rpartition(".")[2] for op in found if "linear" in op]
    assert layers == [*layer, *layer, "linear_w8"]


def mixed(most: Type, tied: bool) -> tuple[Any, dict[str, Type]]:
    """A model and its types as in Q4_K_M and Q5_K_M; a tied token embedding has 6 bits."""
    model = random_model(transformers.LlamaConfig(**LARGER, tie_word_embeddings=tied))
    smaller = ("q_proj", "k_proj", "o_proj", "gate_proj", "up_proj", "embed_tokens")
    larger = ("v_proj", "down_proj", "embed_tokens" if tied else "lm_head")
    return model, {**dict.fromkeys(smaller, most), **dict.fromkeys(larger, Type.Q6_K)}


@pytest.mark.parametrize(
    ("most", "tied"), [(Type.Q4_K, False), (Type.Q4_K, True), (Type.Q5_K, False)]
)
def test_mixtures_of_k(most: Type, tied: bool, tmp_path: Path) -> None:
    """Layers and the token embedding keep their quantized values."""
    model, kinds = mixed(most, tied)
    write(model, tmp_path / "model.gguf", kinds)
    found = check(model, tmp_path / "model.gguf", 24)
    bits = 4 if most is Type.Q4_K else 8
    layer = [
        f"linear_w{bits}",
        "linear_w8",
        f"linear_w{bits}",
        f"gated_linear_w{bits}",
        "linear_w8",
    ]
    layers = [op.rpartition(".")[2] for op in found if "linear" in op or "embedding" in op]
    assert layers == [f"embedding_w{8 if tied else bits}", *layer, *layer, "linear_w8"]


def constants(graphs: Any) -> dict[str, Any]:
    """The constants of graphs, by name."""
    tensors = [t for g in graphs for node in g.nodes for t in node.inputs() if t.data is not None]
    return {t.name: t for t in tensors}


@pytest.mark.parametrize(("dtype", "bytes_per_weight"), [(DType.F16, 0.625), (DType.F32, 0.75)])
def test_bytes_of_q4_k(dtype: DType, bytes_per_weight: float, tmp_path: Path) -> None:
    model, kinds = mixed(Type.Q4_K, False)
    write(model, tmp_path / "model.gguf", kinds)
    stored = constants(import_gguf(tmp_path / "model.gguf", max_prefill=16, dtype=dtype))
    name = "model.layers.0.self_attn.o_proj.weight"
    parts = [t for n, t in stored.items() if n in (name, f"{name}.scales", f"{name}.offsets")]
    assert [t.dtype for t in parts] == [DType.U8, dtype, dtype]
    assert sum(t.size for t in parts) == bytes_per_weight * 256 * 256


@pytest.mark.parametrize("kind", [Type.Q4_K, Type.Q5_K, Type.Q6_K])
def test_rounding_scales_to_fp16_is_small(kind: Type) -> None:
    """The RMS error is less than 2 % of the error of quantization, which is 0.29 steps."""
    zeros = np.zeros((64, 512), np.float32)
    blocks = np.ascontiguousarray(quantized_blocks(zeros, kind)).view(np.uint8)
    stored = decode_rows(int(kind), blocks.reshape(64, -1))
    assert isinstance(stored, QuantizedMatrix)
    offsets = None if stored.offsets is None else stored.offsets.astype(np.float16)
    rounded = replace(stored, scales=stored.scales.astype(np.float16), offsets=offsets)
    error = np.linalg.norm(rounded.floats() - stored.floats())
    steps = np.linalg.norm(np.repeat(stored.scales, stored.group, axis=1))
    assert 0 < error < 0.02 * 0.29 * steps


@pytest.mark.parametrize("kind", [Type.Q4_0, Type.Q4_K])
def test_fp16(kind: Type, tmp_path: Path) -> None:
    model, path = random_model(transformers.Qwen2Config(**LARGER)), tmp_path / "model.gguf"
    write(model, path, kind)
    _, scores = eager_tokens(model, 1)
    data = graph_file.to_bytes(*import_gguf(path, max_prefill=16, dtype=DType.F16))
    (logits,) = spirloom.load(data)(np.array([PROMPT], np.int32))
    np.testing.assert_allclose(logits[0], scores, rtol=0.05, atol=0.05 * float(scores.abs().max()))


@pytest.mark.parametrize("kind", sorted(BLOCKS))
def test_values_equal_those_of_the_package(kind: int) -> None:
    """Bit for bit, for random blocks and for quantized weights; with minima, up to the rounding of
    the offset."""
    generator = np.random.default_rng(kind)
    values = generator.normal(0, 0.3, (6, 512)).astype(np.float32)
    rows = np.ascontiguousarray(quantized_blocks(values, Type(kind))).view(np.uint8)
    stored = decode_rows(kind, rows.reshape(6, -1))
    found = floats_of(stored)
    wanted = gguf.quants.dequantize(rows.reshape(6, -1), Type(kind)).reshape(6, -1)
    rounding: Any = 0
    if isinstance(stored, QuantizedMatrix) and stored.offsets is not None:
        largest = np.abs(stored.offsets) + 16 * np.abs(stored.scales)
        rounding = np.repeat(largest * 2.0**-22, stored.group, axis=1)
    assert (np.abs(found.astype(np.float32) - wanted.astype(np.float32)) <= rounding).all()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "model.gguf", tmp_path / "net.slg"
    write(random_model(transformers.LlamaConfig(**LARGER)), path, {"up_proj": Type.Q4_K})
    line = ["import", str(path), "-o", str(output), "--context", "64", "--max-prefill", "8"]
    assert main(line) == 0
    assert f"{output}: prefill: " in capsys.readouterr().out
    whole = output.stat().st_size
    assert main([*line, "--quantize", "int8:32"]) == 0
    assert output.stat().st_size < 0.5 * whole


def test_a_split_model_equals_one_file(tmp_path: Path) -> None:
    """From each part that llama.cpp's package writes."""
    for name, part_tensors in (("whole", 0), ("split", 8)):
        model = random_model(transformers.LlamaConfig(**SIZES))
        write(model, tmp_path / f"{name}.gguf", Type.Q8_0, part_tensors=part_tensors)
    whole = graph_file.to_bytes(*import_gguf(tmp_path / "whole.gguf"))
    parts = sorted(tmp_path.glob("split-0000?-of-00003.gguf"))
    assert len(parts) == 3
    assert all(graph_file.to_bytes(*import_gguf(part)) == whole for part in parts)


@pytest.mark.parametrize(
    ("name", "pre"), [("gpt2", "gpt-2"), ("llama3", "llama-bpe"), ("qwen", "qwen2")]
)
def test_the_vocabulary_equals_the_tokenizer(tmp_path: Path, name: str, pre: str) -> None:
    """Tokens and text equal those of the Hugging Face tokenizer with the same vocabulary."""
    content = json.loads((TOKENIZERS / f"{name}.json").read_text())["tokenizer"]
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content))
    ids = theirs.get_vocab(with_added_tokens=True)
    special = {token["content"] for token in content["added_tokens"]}
    pieces = sorted(ids, key=ids.__getitem__)

    def vocabulary(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(pieces)
        writer.add_token_types([3 if piece in special else 1 for piece in pieces])
        writer.add_token_merges([" ".join(pair) for pair in content["model"]["merges"]])
        writer.add_bos_token_id(ids["<s>"])
        writer.add_eos_token_id(ids["<|im_end|>"])
        writer.add_add_bos_token(True)
        writer.add_chat_template(CHATML)

    model = random_model(transformers.LlamaConfig(**{**SIZES, "vocab_size": len(pieces)}))
    write(model, tmp_path / "m.gguf", Type.F32, vocabulary=vocabulary)
    attachments = import_gguf(tmp_path / "m.gguf")[0].attachments
    ours = tokenizers.Tokenizer.from_str(attachments["tokenizer.json"].decode())
    for text in [*TEXTS, *random_texts(300, seed=2)]:
        tokens = ours.encode(text, add_special_tokens=False).ids
        assert tokens == theirs.encode(text, add_special_tokens=False).ids, text
        assert ours.decode(tokens) == theirs.decode(tokens)
    found = json.loads(attachments["language_model.json"])
    assert (found["eos"], found["bos"]) == ([ids["<|im_end|>"]], ids["<s>"])
    assert found["add_bos"] and found["chat"]["generate"] == "<|im_start|>assistant\n"
