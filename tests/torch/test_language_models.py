"""Hugging Face directories compared with eager models of transformers: equal greedy tokens."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import spirloom
import torch
import transformers
from safetensors.torch import load_file, save_file  # type: ignore[import]
from spirloom import graph_file
from spirloom.errors import ImportFailure
from spirloom.hf import import_directory
from spirloom.op_library import own_library
from spirloom.passes.weight_quantization import Quantization

from op_specs.sampling import sampling
from tests.torch.language_models import CONFIGS, PROMPT, check_tokens, eager_tokens, saved


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
