"""Language models with KV caches: the methods that the importers of weight files build."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spirloom.family import RearrangedSource, Weights, make_methods
from spirloom.hf.config import read_config
from spirloom.ir import DType
from spirloom.op_library import OpLibrary

from benchmarks.roofline.call import RecordedCall, calls_in, merged
from benchmarks.roofline.synthetic import LLAMA_1B, MAX_BINDING, PROMPT, Repeating

CONTEXT = 4096
LLAMA_8B: Mapping[str, Any] = {
    **LLAMA_1B,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "head_dim": 128,
    "max_position_embeddings": 8192,
}
QWEN3_06B: Mapping[str, Any] = {
    **LLAMA_1B,
    "vocab_size": 151936,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "head_dim": 128,
    "max_position_embeddings": 8192,
}
# Name → config, and whether weights are int4.
LANGUAGE_MODELS: dict[str, tuple[Mapping[str, Any], bool]] = {
    "llama_3.2_1b_f16": (LLAMA_1B, False),
    "qwen3_0.6b_f16": (QWEN3_06B, False),
    "llama_3.1_8b_int4": (LLAMA_8B, True),
}


def language_calls(name: str, library: OpLibrary) -> list[RecordedCall]:
    """The calls of `prefill` of 512 tokens and of `decode` of one.

    All layers have equal calls: those of one more layer are the calls of two layers without those
    of one.
    """
    config, is_int4 = LANGUAGE_MODELS[name]
    one, two = (_calls(name, config, is_int4, layers, library) for layers in (1, 2))
    more = config["num_hidden_layers"] - 1
    found = []
    for key, call in two.items():
        first = one[key].count if key in one else 0
        count = first + more * (call.count - first)
        found.append(RecordedCall(call.op, call.args, call.dtype, {name: count}))
    return found


def _calls(
    name: str, config: Mapping[str, Any], is_int4: bool, layers: int, library: OpLibrary
) -> dict[str, RecordedCall]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "config.json"
        path.write_text(json.dumps({**config, "num_hidden_layers": layers}), encoding="utf-8")
        read = read_config(path)
    weights = Weights(RearrangedSource(Repeating(config, is_int4), read), DType.F16, None)
    graphs = make_methods(read, weights, library, "a benchmark", CONTEXT, PROMPT, MAX_BINDING)
    calls = merged(call for graph in graphs for call in calls_in(graph, name, library))
    return {call.key: call for call in calls}
