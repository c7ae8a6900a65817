"""Fuzzes the import of ONNX models: reading, converting, optimizing, and writing the graph.

.venv/bin/python -m tests.fuzz.onnx_import --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.onnx.shape_inference import ModelInference
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize

from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_mutation import mutate, mutate_bytes, mutate_field
from tests.fuzz.onnx_seeds import drawn, parts

UNCHECKED = 99  # a format version that the ONNX checker does not support
CONSTANTS_LIMIT = 64 << 20


def make(choose: random.Random) -> dict[str, bytes]:
    """A model. A quarter have damaged bytes, the others changed content."""
    model = drawn(choose)
    in_bytes = choose.random() < 0.25
    for _ in range(0 if in_bytes else choose.randint(1, 4)):
        if choose.random() < 0.5:
            mutate(model, choose)
        else:
            mutate_field(model, parts(), choose)
    if choose.random() < 0.7:
        model.ir_version = UNCHECKED
    content: bytes = model.SerializeToString()
    return {"m.onnx": mutate_bytes(content, choose) if in_bytes else content}


def run(files: dict[str, bytes]) -> bool:
    """Imports the model and reads the written graph; returns whether the import succeeded."""
    path = scratch() / "m.onnx"
    path.write_bytes(files["m.onnx"])
    try:
        with patch.object(
            ModelInference, "_infer", lambda self: {}
        ):  # starts a process for shape inference, only for messages
            graph = import_model(path, _library(), Shapes(), constants_limit=CONSTANTS_LIMIT)
        optimize(graph, _library())
    except ImportFailure:
        return False
    path = scratch() / "m.slg"
    path.write_bytes(graph_file.to_bytes(graph))
    graph_reader.load(path)
    return True


@cache
def _library() -> OpLibrary:
    return OpLibrary()


@cache
def scratch() -> Path:
    """A temporary directory, in memory if /dev/shm exists."""
    memory = Path("/dev/shm")
    path = tempfile.mkdtemp(prefix="spirloom-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
