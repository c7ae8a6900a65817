"""GGUF files: the same graphs as from a Hugging Face directory, and error messages."""

from __future__ import annotations

import json
import os
import random
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spirloom import constants_file, graph_file
from spirloom.errors import ImportFailure
from spirloom.gguf import import_gguf
from spirloom.gguf.file import GgufFile
from spirloom.hf import import_directory
from spirloom.ir import Array, Graph
from spirloom.op_library import OpLibrary
from spirloom.passes.weight_quantization import Quantization

from tests.frontend.gguf_writer import (
    ARRAY,
    BOOL,
    F16,
    F32,
    I32,
    Q4_0,
    Q8_0,
    SIZES,
    STRING,
    WORDS,
    Written,
    file_bytes,
    packed,
    tiny_metadata,
    tiny_tensors,
    tiny_weights,
)

HEADS = {"attn_q": 4, "attn_k": 2}
NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "token_embd": "embed_tokens", "output_norm": "norm",
}  # fmt: skip


def saved(path: Path, metadata: Any = None, tensors: Any = None, version: int = 3) -> Path:
    file = path / "m.gguf"
    file.write_bytes(file_bytes(metadata or tiny_metadata(), tensors or tiny_tensors(), version))
    return file


def folder_of(path: Path, architecture: str) -> Path:
    """The same model as a Hugging Face directory."""
    config = {
        "model_type": architecture,
        "vocab_size": WORDS,
        "hidden_size": SIZES["embedding_length"],
        "intermediate_size": SIZES["feed_forward_length"],
        "num_hidden_layers": SIZES["block_count"],
        "num_attention_heads": SIZES["attention.head_count"],
        "num_key_value_heads": SIZES["attention.head_count_kv"],
        "max_position_embeddings": SIZES["context_length"],
        "rope_theta": 10000.0,
        "head_dim": SIZES["embedding_length"] // SIZES["attention.head_count"],
        "rms_norm_eps": float(np.float32(1e-5)),
        "tie_word_embeddings": True,
    }
    (path / "config.json").write_text(json.dumps(config))
    arrays = {}
    for name, values in tiny_weights(architecture).items():
        part = name.split(".")[-2]
        whole = {"phi3": {"ffn_up": "mlp.gate_up_proj"}}.get(architecture, {})
        layer = "model.layers.0." if name.startswith("blk.") else "model."
        turned = (
            by_halves(values, HEADS[part])
            if part in HEADS and architecture in ("llama", "smollm3")
            else values
        )
        arrays[f"{layer}{({**NAMES, **whole})[part]}.weight"] = turned
    write_safetensors(path / "model.safetensors", arrays)
    return path


def by_halves(rows: Array, heads: int) -> Array:
    """Reference permutation: the even rows of a head first, then the odd rows."""
    size = len(rows) // heads
    order = [head * size + at for head in range(heads)
             for at in [*range(0, size, 2), *range(1, size, 2)]]  # fmt: skip
    return rows[order]


def write_safetensors(path: Path, arrays: dict[str, Array]) -> None:
    header, content = {}, b""
    for name, array in arrays.items():
        offsets = [len(content), len(content) + array.nbytes]
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": offsets}
        content += array.tobytes()
    packed = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(packed)) + packed + content)


def stored(graphs: list[Graph]) -> bytes:
    for graph in graphs:
        graph.producer = ""
    return graph_file.to_bytes(*graphs)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "smollm3", "phi3", "olmo2"])
def test_the_graph_is_that_of_a_folder(
    architecture: str, version: int, library: OpLibrary, tmp_path: Path
) -> None:
    tensors = tiny_tensors(architecture=architecture)
    file = saved(tmp_path, tiny_metadata(architecture), tensors, version)
    wanted = import_directory(folder_of(tmp_path, architecture), library=library)
    made = import_gguf(file, library=library)
    made[0].attachments = wanted[0].attachments = {}  # attachments differ
    assert stored(made) == stored(wanted)


@pytest.mark.parametrize(("kind", "bits", "bytes_each"), [(Q4_0, 4, 0.5625), (Q8_0, 8, 1.0625)])
def test_quantized_weights_keep_their_bytes(
    kind: int, bits: int, bytes_each: float, library: OpLibrary, tmp_path: Path
) -> None:
    file = saved(tmp_path, tensors=tiny_tensors(kind))
    _, decode = import_gguf(file, library=library)
    nodes = [node for node in decode.nodes if "linear" in node.op or "embedding" in node.op]
    layers = ["embedding", "linear", "linear", "gated_linear", "linear", "linear"]
    assert [node.op for node in nodes] == [f"spirloom.{layer}_w{bits}" for layer in layers]
    of_norms = ("rms_weight", "rms_eps")
    norms = [library.arg(node, name) for node in nodes[1:] for name in of_norms]
    constants = {
        t for node in nodes for t in node.inputs() if t.data is not None and t not in norms
    }
    elements = sum(values.size for values in tiny_weights().values() if values.ndim > 1)
    assert sum(t.size for t in constants) == bytes_each * elements, "a tied table is stored once"


@pytest.mark.parametrize("kind", [Q4_0, Q8_0, F16])
def test_weights_are_not_held_in_memory(
    kind: int, library: OpLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peak of an import is below the size of the file."""
    inner, hidden = 1 << 17, SIZES["embedding_length"]
    metadata = tiny_metadata() | {"llama.feed_forward_length": inner}
    weights = np.random.default_rng(2).normal(0, 0.3, (inner, hidden)).astype(np.float32)
    content = packed(weights, kind)
    large = {"ffn_gate": (inner, hidden), "ffn_up": (inner, hidden), "ffn_down": (hidden, inner)}
    tensors = tiny_tensors(kind) | {
        f"blk.0.{name}.weight": Written(shape, kind, content) for name, shape in large.items()
    }
    path = saved(tmp_path, metadata, tensors)
    del weights, content, tensors
    for name in ("BLOCK_BYTES", "SEGMENT_BYTES"):
        monkeypatch.setattr(constants_file, name, 1 << 18)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)  # each thread holds a block
    tracemalloc.start()
    try:
        graph_file.save(import_gguf(path, library=library), tmp_path / "model.slg")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size


def wrong_tensor(name: str, **changed: Any) -> dict[str, Written]:
    tensors = tiny_tensors()
    given: dict[str, Any] = {
        "shape": tensors[name].shape,
        "kind": F32,
        "content": tensors[name].content,
    }
    return {**tensors, name: Written(**{**given, **changed})}


def without(name: str) -> dict[str, Written]:
    return {key: value for key, value in tiny_tensors().items() if key != name}


Q = "blk.0.attn_q.weight"
NESTED = b"".join(struct.pack("<IQ", ARRAY, 1) for _ in range(6))
TENSORS = [
    (wrong_tensor(Q, offset=7), rf"tensor '{Q}' has offset 7, not a multiple of 32"),
    (wrong_tensor(Q, offset=1 << 20), rf"tensor '{Q}' needs 4096 bytes at offset 1048576, but the"),
    (wrong_tensor(Q, kind=2, shape=(33, 31)), "31 elements, not a multiple of the 32 of a Q4_0"),
    (wrong_tensor(Q, kind=11), f"tensor '{Q}' has type Q3_K; supported are: F32"),
    (wrong_tensor(Q, kind=77), "has type id 77"),
    (wrong_tensor(Q, shape=(0, 32)), rf"tensor '{Q}' has the invalid shape \[0, 32\]"),
    (wrong_tensor(Q, shape=(1 << 40, 1 << 40)), "has the invalid shape"),
    (wrong_tensor(Q, shape=(1, 1, 1, 1, 1)), f"tensor '{Q}' has rank 5, which is not in 1"),
    (wrong_tensor(Q, shape=(16, 32)), rf"Tensor '{Q}' has shape \[16, 32\]; expected \[32, 32\]"),
    (wrong_tensor(Q, shape=(31, 32)), rf"Tensor '{Q}' has 31 rows, which is not a multiple of the"),
    (without(Q), f"The model has no tensor '{Q}'"),
    ({**tiny_tensors(), "rope_freqs.weight": Written((3,), F32, bytes(12))},
     r"Tensor 'rope_freqs.weight' has shape \[3\] or a factor that is not above 0; expected \[4\]"),
]  # fmt: skip
YARN = {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0}
VALUES: list[tuple[dict[str, Any], str]] = [
    ({"general.architecture": "mamba"}, "general.architecture is 'mamba'; supported are: llama"),
    ({"general.alignment": 24}, "general.alignment is 24, which is not a power of two"),
    ({"llama.embedding_length": "32"}, "llama.embedding_length is '32'; expected an integer"),
    ({"llama.expert_count": 8}, "llama.expert_count is 8; expected 0"),
    ({"llama.expert_count": (ARRAY, struct.pack("<IQ3i", I32, 3, 1, 1, 1))},
     r"llama.expert_count is array\(\[1, 1, 1\].*; expected 0"),
    ({"llama.rope.dimension_count": 10}, "RoPE of 10 columns exceeds the head size, 8"),
    ({"llama.rope.dimension_count": 0}, "RoPE of 0 columns is not in 2"),
    ({"llama.attention.sliding_window_pattern": 6}, "sliding_window_pattern is 6; expected 1"),
    ({"llama.attention.sliding_window_pattern": (ARRAY, struct.pack("<IQ2?", BOOL, 2, 1, 0))},
     r"sliding_window_pattern is array\(\[1, 0\].*; expected 1"),
    ({"llama.attn_logit_softcapping": -1.0}, "The model's attn_softcap, -1.0, is not finite and"),
    ({"llama.attention.value_length": 4}, "llama.attention.value_length is 4; expected 8"),
    ({"llama.rope.scaling.type": "su"}, "scaling.type is 'su'; supported are: none, linear, long"),
    ({"llama.rope.scaling.type": "yarn"}, "rope.scaling.factor is absent; expected a finite numb"),
    ({**YARN, "llama.rope.scaling.factor": 0.5}, "YaRN's factor, 0.5, is not 1 or above"),
    ({**YARN, "llama.rope.scaling.original_context_length": 0},
     "YaRN's original_max_position_embeddings, 0.0, is not 1 or above"),
    ({**YARN, "llama.rope.scaling.yarn_beta_slow": 64.0}, "beta_slow, 64.0, is not above 0 and at"),
    ({**YARN, "llama.rope.scaling.yarn_log_multiplier": -9.0}, "mscale_all_dim, -9.0, is not 0"),
    ({**YARN, "llama.rope.scaling.yarn_attn_factor": "1"}, "attn_factor is '1'; expected a finite"),
    ({**YARN, "llama.rope.scaling.yarn_ext_factor": 0.5}, "yarn_ext_factor is 0.5; expected 1.0"),
    ({**YARN, "llama.rope.scaling.attn_factor": 1.5}, "scaling.attn_factor is 1.5; expected 1.0"),
    ({**YARN, "llama.rope.freq_base": 1.0}, "The RoPE base, 1.0, is not above 1"),
    ({"llama.rope.scaling.type": "linear"}, "rope.scaling.factor is absent; expected a finite num"),
    ({"llama.rope.freq_base": -1.0}, "The RoPE base, -1.0, is not above 0"),
    ({"llama.attention.head_count": 0}, "The model's num_heads, 0, is not in 1"),
    ({"llama.attention.head_count_kv": 3}, "query heads, 4, is not a multiple of the number of KV"),
    ({"llama.context_length": 1 << 29}, "--context"),
    ({"x": (12, b"")}, "'x' needs 8 bytes at offset"),
    ({"x": (13, bytes(8))}, "'x' has type id 13, which is not in 0"),
    ({"x": (STRING, struct.pack("<Q", 1 << 60))}, "the length of 'x' is 1152921504606846976, but"),
    ({"x": (ARRAY, struct.pack("<IQ", 4, 1 << 60))}, "the length of 'x' is 1152921504606846976"),
    ({"x": (ARRAY, struct.pack("<IQQ", STRING, 2, 1) + b"a" + struct.pack("<Q", 1 << 60))},
     "the length of 'x' is 1152921504606846976, but"),
    ({"x": (ARRAY, NESTED)}, "more than 4 levels of nested arrays"),
]  # fmt: skip


@pytest.mark.parametrize(("tensors", "message"), TENSORS)
def test_wrong_tensors(tensors: Any, message: str, library: OpLibrary, tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=message):
        import_gguf(saved(tmp_path, tensors=tensors), library=library)


@pytest.mark.parametrize(("values", "message"), VALUES)
def test_wrong_values(values: Any, message: str, library: OpLibrary, tmp_path: Path) -> None:
    data = file_bytes({**tiny_metadata(), **values}, tiny_tensors())
    if "needs 8 bytes" in message:
        data = file_bytes(values, {})[: -(len(file_bytes(values, {})) - 37)]
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(ImportFailure, match=message):
        import_gguf(tmp_path / "m.gguf", library=library)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GGUF", "the version needs 4 bytes at offset 4, but there are 4"),
        (b"GGUF" + struct.pack(">I", 3), "its version is 50331648; supported are 2 and 3, lit"),
        (b"GGUF" + struct.pack("<IQ", 1, 0), "its version is 1; supported are 2 and 3"),
        (b"GGUF" + struct.pack("<IQ", 3, 1 << 40), "the number of tensors is 1099511627776, but"),
        (b"GGML" + bytes(40), "it does not start with 'GGUF'"),
        (b"", "it does not start with 'GGUF'"),
    ],
)
def test_what_is_no_such_file(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(data)
    with pytest.raises(ImportFailure, match=message):
        GgufFile(tmp_path / "m.gguf")


def test_strings_of_a_file(tmp_path: Path) -> None:
    """Also incomplete UTF-8, as tokens of byte-level vocabularies are."""
    texts = [b"", b"a", "\u00e9\U0001f600".encode(), b"x\xf0\x9f"]
    content = b"".join(struct.pack("<Q", len(text)) + text for text in texts)
    values = {"x": (ARRAY, struct.pack("<IQ", STRING, len(texts)) + content), "y": 7}
    (tmp_path / "m.gguf").write_bytes(file_bytes(values, {}))
    found = GgufFile(tmp_path / "m.gguf").metadata
    assert found == {"x": ["", "a", "\u00e9\U0001f600", "x\ufffd"], "y": 7}


def test_truncated_files_are_refused_wherever_they_end(tmp_path: Path) -> None:
    data = file_bytes(tiny_metadata(), tiny_tensors(Q4_0))
    path = tmp_path / "m.gguf"
    for size in [*range(1, 1400, 3), *range(1400, len(data), 997), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(ImportFailure) as caught:
            GgufFile(path)
        assert len(str(caught.value).splitlines()) == 1 and str(path) in str(caught.value)


def test_flipped_bits_are_read_or_refused(library: OpLibrary, tmp_path: Path) -> None:
    data = file_bytes(tiny_metadata(), tiny_tensors(Q4_0))
    choose, path, refused = random.Random(5), tmp_path / "m.gguf", 0
    for at in range(0, 1500, 5):
        damaged = bytearray(data)
        damaged[at] ^= 1 << choose.randrange(8)
        path.write_bytes(damaged)
        try:
            import_gguf(path, max_prefill=1, library=library)
        except ImportFailure as error:
            refused += 1
            assert len(str(error).splitlines()) == 1
    assert refused > 100


def test_a_folder_is_rounded_as_it_is_asked(library: OpLibrary, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "qwen2")

    def layers(*skip: str) -> dict[str, str]:
        graphs = import_directory(folder, quantize=Quantization(4, 32, skip), library=library)
        assert stored(graphs) == stored(
            import_directory(folder, quantize=Quantization(4, 32, skip), library=library)
        )
        nodes = [n for n in graphs[1].nodes if "linear" in n.op or "embedding" in n.op]
        return {node.name: node.op.rpartition(".")[2] for node in nodes}

    whole = layers()
    assert len(whole) == 6 and whole.pop("embedding") == "embedding_w4"
    assert set(whole.values()) == {"linear_w4", "gated_linear_w4"}
    some = layers("*.qkv", "lm_head")
    left = {name for name, op in some.items() if op == "linear"}
    assert left == {"model.layers.0.self_attn.qkv", "lm_head"}
