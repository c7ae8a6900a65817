"""Graph files of language models: dispatches, caches, split weights, the command."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.hf import import_directory
from spirloom.ir import DType
from spirloom.passes.weight_quantization import Quantization

from tests.torch.language_models import PROMPT, eager_tokens, saved

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
