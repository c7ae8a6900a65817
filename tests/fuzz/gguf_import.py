"""Fuzzes the import of GGUF files: reading the file, its sizes and weights, writing the graph.

.venv/bin/python -m tests.fuzz.gguf_import --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from functools import cache
from typing import Any

from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.gguf import import_gguf
from spirloom.gguf.blocks import BLOCKS
from spirloom.gguf.config import ARCHITECTURES
from spirloom.op_library import OpLibrary

from tests.frontend.gguf_writer import F16, F32, Q4_0, Q8_0, file_bytes, tiny_metadata, tiny_tensors
from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_import import scratch
from tests.fuzz.onnx_mutation import mutate_bytes

Files = dict[str, bytes]
_HEAD = 1500  # bytes before the tensor data
_OPTIONAL = (
    "rope.freq_base",
    "rope.dimension_count",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.attn_factor",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_log_multiplier",
    "rope.freq_base_swa",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "attention.sliding_window_pattern",
    "attention.value_length",
    "attention.key_length",
    "attention.sliding_window",
    "expert_count",
)
_SIZES = (0, 1, 2, 3, 4, 8, 16, 31, 32, 33, 64, 1 << 16, 1 << 24, (1 << 31) - 1, (1 << 32) - 1)


def make(choose: random.Random) -> Files:
    """A model with a changed metadata value, tensor or bytes."""
    architecture = choose.choice([*ARCHITECTURES])
    metadata: dict[str, Any] = tiny_metadata(architecture)
    tensors = dict(tiny_tensors(choose.choice((F32, F16, Q4_0, Q8_0)), architecture))
    damage = choose.randrange(4)
    if damage == 0:
        _change_value(metadata, choose)
    elif damage == 1:
        _change_tensor(tensors, choose)
    data = file_bytes(metadata, tensors, choose.choice((2, 3)))
    if damage == 2:
        offset = choose.randrange(_HEAD)
        word = choose.choice((*_SIZES, (1 << 64) - 1, 1 << 63, choose.getrandbits(64)))
        data = data[:offset] + struct.pack("<Q", word) + data[offset + 8 :]
    elif damage == 3:
        data = mutate_bytes(data, choose)
    return {"m.gguf": data}


def _change_value(metadata: dict[str, Any], choose: random.Random) -> None:
    key = choose.choice([*metadata])
    end = key.partition(".")[2]
    other = choose.choice([*metadata.values()])
    value = choose.choice((*_SIZES, 0.0, -1.0, float("nan"), "text", other))
    name = choose.choice((*_OPTIONAL, end))
    metadata[choose.choice((key, f"{metadata['general.architecture']}.{name}"))] = value


def _change_tensor(tensors: dict[str, Any], choose: random.Random) -> None:
    name = choose.choice([*tensors])
    tensor = tensors[name]
    match choose.randrange(5):
        case 0:
            del tensors[name]
        case 1:
            sizes = (choose.choice((*tensor.shape, *_SIZES)) for _ in range(choose.randint(0, 5)))
            tensors[name] = replace(tensor, shape=tuple(sizes))
        case 2:
            tensors[name] = replace(tensor, kind=choose.choice((*BLOCKS, 3, 99)))
        case 3:
            tensors[name] = replace(tensor, offset=choose.choice((*_SIZES, 1 << 63)))
        case _:
            tensors[name] = tensors[choose.choice([*tensors])]


def run(files: Files) -> bool:
    """Imports the model and reads the written graph; returns whether the import succeeded."""
    path = scratch() / "m.gguf"
    path.write_bytes(files["m.gguf"])
    try:
        methods = import_gguf(path, max_prefill=1, library=library())
    except ImportFailure as error:
        assert len(str(error).splitlines()) == 1
        return False
    written = scratch() / "m.slg"
    written.write_bytes(graph_file.to_bytes(*methods))
    graph_reader.load(written)
    return True


@cache
def library() -> OpLibrary:
    """The operator library."""
    return OpLibrary()


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
