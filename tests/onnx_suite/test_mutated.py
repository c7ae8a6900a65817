"""The suite's models, changed at random, import or end in a message."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from onnx import ModelProto, numpy_helper
from spirloom import graph_file
from spirloom.errors import ImportFailure
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.ops import OpLibrary
from spirloom.passes import optimize

from tests.onnx_suite.mutation import NUMBERS, mutate
from tests.onnx_suite.suite import SuiteCase, only_tensors, read_suite

MODELS = 400
UNCHECKED = 99  # a version of the format that ONNX's own checker does not know


def mutant(case: SuiteCase, choose: random.Random) -> bytes:
    """A case's model with some inputs as constants, changed in up to three places."""
    made = ModelProto()
    made.CopyFrom(case.model)
    for info, value in zip(case.inputs, case.data_sets()[0].inputs, strict=False):
        if choose.random() < 0.5 or value.dtype == object:
            continue
        array = np.array(value)
        if array.dtype.kind in "iu" and array.size and choose.random() < 0.5:
            place = choose.randrange(array.size)
            array.reshape(-1)[place] = np.array(choose.choice(NUMBERS)).astype(array.dtype)
        made.graph.initializer.append(numpy_helper.from_array(array, info.name))
    for _ in range(choose.randint(1, 3)):
        mutate(made, choose)
    made.ir_version = UNCHECKED
    content: bytes = made.SerializeToString()
    return content


def test_mutated_models_never_end_in_a_traceback(suite: Path, tmp_path: Path) -> None:
    choose, library, path = random.Random(5), OpLibrary(), tmp_path / "m.onnx"
    values = [c for c in read_suite(suite) if only_tensors([*c.inputs, *c.model.graph.output])]
    imported = 0
    for _ in range(MODELS):
        path.write_bytes(mutant(choose.choice(values), choose))
        try:
            graph = import_model(path, library, Shapes())
        except ImportFailure:
            continue
        optimize(graph, library)
        graph_file.to_bytes(graph)
        imported += 1
    assert MODELS / 10 < imported < MODELS
