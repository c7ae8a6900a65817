"""KV caches of every dtype: the story model compared with its fp32 cache, and the options."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import spirloom
from spirloom import graph_file, graph_reader
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.formats.options import KV_CACHE_DTYPES
from spirloom.inspect import to_text
from spirloom.kv_cache import FORMATS, kv_cache_of, read_with_kv_cache, set_kv_cache
from spirloom.llm import LLM
from spirloom.llm.import_cache import with_kv_cache
from spirloom.op_library import own_library

from examples.story.generate import BEGINNING, MODEL, read_tokenizer
from examples.story.tokenizer import Tokenizer
from tests.frontend.gguf_writer import file_bytes, tiny_metadata, tiny_tensors
from tests.llm.model_directory import write_model_directory

LAYERS, KV_HEADS, SIZE, CONTEXT = 4, 3, 32, 256
Logits = npt.NDArray[np.float32]
# Bytes of a row of a head, and the maximum error of logits relative to their maximum.
ROWS = {"f32": 128, "f16": 64, "bf16": 64, "f8_e4m3": 32, "f8_e5m2": 32, "int8": 36, "int4": 20}
ERRORS = {
    "f32": 1e-5, "f16": 1e-3, "bf16": 1e-2, "f8_e4m3": 0.08, "f8_e5m2": 0.15, "int8": 2e-2,
    "int4": 0.3,
}  # fmt: skip
DTYPES = pytest.mark.parametrize("dtype", FORMATS)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return read_tokenizer()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story model with each dtype: DTYPE.slg."""
    path = tmp_path_factory.mktemp("kv_cache")
    for dtype in FORMATS:
        graph_file.save(read_with_kv_cache(MODEL, dtype, own_library()), path / f"{dtype}.slg")
    return path


def prefilled(model: spirloom.Model, tokens: Sequence[int], chunks: Sequence[int]) -> Logits:
    """The logits after the last chunk."""
    model.reset_states()
    begin, found = 0, np.zeros(0, np.float32)
    for size in chunks:
        found = model(np.array([tokens[begin : begin + size]], np.int32))[0][0]
        begin += size
    return found


@DTYPES
def test_logits_are_those_of_fp32(
    runtime: spirloom.Runtime, folder: Path, tokenizer: Tokenizer, dtype: str
) -> None:
    """By prefill in several chunks, and by decoding."""
    prompt = list(tokenizer.encode(BEGINNING))
    exact = prefilled(runtime.load(folder / "f32.slg"), prompt, [len(prompt)])
    limit = ERRORS[dtype] * np.abs(exact).max()
    model = runtime.load(folder / f"{dtype}.slg")
    for chunks in ([len(prompt)], [1] * len(prompt), [2, len(prompt) - 2]):
        assert np.abs(prefilled(model, prompt, chunks) - exact).max() <= limit
    decode = model.context("decode", share_states=True)
    model.reset_states()
    for token in prompt:
        decode.states["token"] = np.array([token], np.int32)
        (found,) = decode()
    assert np.abs(found[0] - exact).max() <= limit
    shape = (1, CONTEXT, KV_HEADS, ROWS[dtype] // FORMATS[dtype].dtype.numpy.itemsize)
    for layer in range(LAYERS):
        for name in ("k_cache", "v_cache"):
            info = next(i for i in decode.states.infos if i.name == f"{name}.{layer}")
            assert info.shape == shape


@pytest.mark.parametrize("dtype", ["f16", "bf16", "int8"])
def test_texts_are_those_of_fp32(
    runtime: spirloom.Runtime, folder: Path, tokenizer: Tokenizer, dtype: str
) -> None:
    """Greedy decoding, and a second prompt that continues the first one's KV cache."""
    exact = LLM(folder / "f32.slg", tokenizer=tokenizer, runtime=runtime)
    stored = LLM(folder / f"{dtype}.slg", tokenizer=tokenizer, runtime=runtime, reuse=True)
    prompt = list(tokenizer.encode(BEGINNING))
    expected = list(exact.generate_tokens(prompt, tokens=12))
    assert list(stored.generate_tokens(prompt, tokens=12)) == expected
    longer = [*prompt, *expected[:4]]
    assert list(stored.generate_tokens(longer, tokens=8)) == expected[4:]


def test_states_are_copied_and_restored(runtime: spirloom.Runtime, folder: Path) -> None:
    """A quantized cache as bytes."""
    model = runtime.load(folder / "int8.slg")
    tokens = [7, 40, 900, 3, 12, 80]
    exact = prefilled(model, tokens, [6])
    saved = {info.name: model.states[info.name] for info in model.states.infos}
    prefilled(model, tokens[::-1], [6])
    for name, array in saved.items():
        model.states[name] = array
    model.states["position"] = np.array([5], np.int32)
    (again,) = model(np.array([tokens[5:]], np.int32))
    assert np.abs(again[0] - exact).max() <= 1e-2 * np.abs(exact).max()


def test_a_float16_model_has_compressed_caches(
    runtime: spirloom.Runtime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A GGUF file, imported with fp16 activations."""
    (tmp_path / "m.gguf").write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    source, path = str(tmp_path / "m.gguf"), str(tmp_path / "m.slg")
    command = ["import", source, "-o", path, "--fp16", "--max-prefill", "4"]
    results = {}
    for dtype in ("f16", "f8_e4m3", "int8", "int4"):
        assert main([*command, "--kv-cache", dtype]) == 0
        model = runtime.load(path)
        results[dtype] = prefilled(model, [3, 1, 4, 15, 9, 2], [4, 2])
        decode = model.context("decode", share_states=True)
        assert np.isfinite(decode()[0]).all()
    scale = np.abs(results["f16"]).max()
    for dtype, logits in results.items():
        assert np.abs(logits - results["f16"]).max() <= ERRORS[dtype] * scale, dtype
    assert main([*command, "--kv-cache", "f32"]) == 1
    error = capsys.readouterr().err
    assert "The KV cache cannot be stored as f32" in error
    assert "Activations are float16: use f16 or fewer bits." in error


def test_inspect_states_the_dtype(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for dtype, row in ROWS.items():
        size = 2 * LAYERS * KV_HEADS * row
        line = f"KV cache    {dtype}, {size:,} bytes per token in {LAYERS} layers"
        assert line in to_text(graph_reader.load(folder / f"{dtype}.slg"), own_library())
    assert main(["inspect", "--json", str(folder / "int4.slg")]) == 0
    found: Any = json.loads(capsys.readouterr().out)
    found = found if isinstance(found, list) else found.get("methods", [found])
    assert found[0]["kv_cache"] == {"name": "int4", "bytes_per_token": 480, "layers": LAYERS}


def test_a_graph_file_changes_its_dtype(
    runtime: spirloom.Runtime,
    folder: Path,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the command and by the option of LLM, also from a compressed cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source, path = folder / "int4.slg", tmp_path / "int8.slg"
    assert main(["import", str(source), "-o", str(path), "--kv-cache", "int8"]) == 0
    assert path.read_bytes() == (folder / "int8.slg").read_bytes()
    prompt = list(tokenizer.encode(BEGINNING))
    converted = LLM(MODEL, tokenizer=tokenizer, runtime=runtime, kv_cache="int8")
    expected = LLM(path, tokenizer=tokenizer, runtime=runtime)
    found = list(converted.generate_tokens(prompt, tokens=4))
    assert found == list(expected.generate_tokens(prompt, tokens=4))
    made = with_kv_cache(MODEL, "int8")
    assert made.is_relative_to(tmp_path) and made == with_kv_cache(MODEL, "int8")


def test_run_chooses_the_dtype(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model directory that is imported on first use."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    became: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: became.append(command))
    write_model_directory(tmp_path / "tiny", "llama3", 96)
    command = ["run", str(tmp_path / "tiny"), "-p", "The quick fox", "--tokens", "3"]
    assert main([*command, "--kv-cache", "int8"]) == 0
    (made,) = (tmp_path / "cache").rglob("*.slg")
    assert became[0][1:6] == [str(made), "-p", "The quick fox", "--tokens", "3"]
    cache = kv_cache_of(graph_reader.load(made), own_library())
    assert cache is not None and cache.name == "int8"
    with pytest.raises(SystemExit):
        main([*command, "--kv-cache", "int2"])
    assert "invalid choice: 'int2'" in capsys.readouterr().err


def test_options_are_the_formats() -> None:
    """The command line does not import the module, which imports NumPy."""
    assert tuple(FORMATS) == KV_CACHE_DTYPES


def test_errors_name_the_remedy(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = graph_reader.load_methods(folder / "f32.slg")
    with pytest.raises(ImportFailure, match="'int3' is not one of: f32, f16, bf16, .*int4"):
        set_kv_cache(methods, "int3", own_library())
    with pytest.raises(ImportFailure, match="no KV cache that --kv-cache can change"):
        set_kv_cache([], "int8", own_library())
    output = ["-o", str(tmp_path / "y.slg")]
    assert main(["import", str(folder / "f32.slg"), *output]) == 1
    assert "Only --kv-cache changes one" in capsys.readouterr().err
    (tmp_path / "x.onnx").write_bytes(b"")
    assert main(["import", str(tmp_path / "x.onnx"), *output, "--kv-cache", "int8"]) == 1
    assert "--kv-cache is for language models" in capsys.readouterr().err
