"""Seeds of ONNX fuzzing: small test models, and models of the ONNX backend suite if installed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from google.protobuf.message import Message
from onnx import ModelProto, helper, numpy_helper
from spirloom.onnx.external_data import messages

from tests.frontend.models import model, node
from tests.frontend.models import random as random_array
from tests.fuzz.onnx_mutation import NUMBERS
from tests.onnx_suite.more_models import MODELS
from tests.onnx_suite.suite import SuiteCase, only_tensors, read_suite

SUITE = Path("/usr/share/libonnx-testdata/data")
_MAX_BYTES = 8192


def network() -> ModelProto:
    """A model with shape arithmetic, convolution, pooling, resize, constants of several types."""
    nodes = [
        node("Conv", "x w", "c", pads=[1, 1, 1, 1], strides=[1, 1]),
        node("MaxPool", "c", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", "p - s", "r", mode="linear"),
        node("Shape", "r", "d"),
        node("Gather", "d first", "n"),
        node("Concat", "n rest", "t", axis=0),
        node("Reshape", "r t", "f"),
        node("Softmax", "f", axis=1),
    ]
    constants = {
        "w": random_array(2, 3, 3, 3),
        "s": np.array([1, 1, 2, 1.5], dtype=np.float32),
        "first": np.array([0], dtype=np.int64),
        "rest": np.array([-1], dtype=np.int64),
    }
    return model(nodes, {"x": (1, 3, 8, 8)}, constants)


def layers() -> ModelProto:
    """A model with GEMM, a power, a local function and computed constants."""
    body = [node("Mul", "a a", "b"), node("Sqrt", "b", "c")]
    function = helper.make_function(
        "own", "Same", ["a"], ["c"], body, [helper.make_opsetid("", 15)]
    )
    nodes = [
        node("Gemm", "x w b", "g"),
        node("Pow", "g e", "p"),
        helper.make_node("Same", ["p"], ["q"], domain="own"),
        node("ConstantOfShape", "size", "zeros"),
        node("Where", "m q zeros", "u"),
        node("MatMul", "u w"),
    ]
    constants = {
        "w": random_array(6, 6),
        "b": random_array(6),
        "e": np.array(1.5, dtype=np.float32),
        "size": np.array([4, 6]),
        "m": random_array(4, 6) > 0,
    }
    proto = model(nodes, {"x": (4, 6)}, constants, opset=15)
    proto.functions.append(function)
    proto.opset_import.append(helper.make_opsetid("own", 1))
    return proto


@cache
def seeds() -> tuple[ModelProto | SuiteCase, ...]:
    """The seeds. Test models are repeated to make up about a fifth."""
    own = [network(), layers(), *(m.proto() for m in MODELS)]
    suite = [*_suite_cases()] if SUITE.is_dir() else []
    return (*own * max(1, len(suite) // (4 * len(own))), *suite)


def _suite_cases() -> Iterator[SuiteCase]:
    for case in read_suite(SUITE):
        small = case.path.stat().st_size <= _MAX_BYTES
        if small and only_tensors([*case.inputs, *case.model.graph.output]):
            yield case


@cache
def parts() -> tuple[Message, ...]:
    """All messages of the test models."""
    return tuple(m for proto in (network(), layers()) for m in messages(proto))


def drawn(choose: random.Random) -> ModelProto:
    """A random seed. Some inputs of suite models become constants, some with a changed element."""
    seed = choose.choice(seeds())
    proto = ModelProto()
    if not isinstance(seed, SuiteCase):
        proto.CopyFrom(seed)
        return proto
    proto.CopyFrom(seed.model)
    for info, value in zip(seed.inputs, _inputs(seed), strict=False):
        if choose.random() < 0.5 or value.dtype.kind in "OV" or value.nbytes > _MAX_BYTES:
            continue
        array = np.array(value)
        if array.dtype.kind in "iu" and array.size and choose.random() < 0.5:
            index = choose.randrange(array.size)
            array.reshape(-1)[index] = np.array(choose.choice(NUMBERS)).astype(array.dtype)
        try:
            stored = numpy_helper.from_array(array, info.name)
        except ValueError:  # ONNX 1.17 does not store an odd number of 4-bit elements
            continue
        proto.graph.initializer.append(stored)
    return proto


@cache
def _inputs(case: SuiteCase) -> tuple[np.ndarray, ...]:  # type: ignore[type-arg]
    return tuple(case.data_sets()[0].inputs)
