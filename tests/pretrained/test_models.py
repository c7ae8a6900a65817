"""Pretrained models of PyPI packages give ONNX Runtime's outputs and answers.

Their inputs are synthetic; where an answer is known (a drawn text, notes of a chord), both give it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import]
import pytest
import spirloom
import spirloom.onnx
from spirloom import graph_reader
from spirloom.cli import main
from spirloom.ir import Array
from spirloom.runtime.errors import InvalidArgument

from tests.pretrained import signals
from tests.pretrained.cases import CASES, MODELS, Case
from tests.sample import part

SILERO = ("silero_vad", "silero_vad_op18_ifless", "silero_vad_16k_op15")
PADDLE = "p2o.DynamicDimension"
SAMPLE = 3  # one in so many models is run in float16 (tests/sample.py)


def expected(path: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """ONNX Runtime's outputs. The model's sizes are replaced by those of the inputs."""
    model = onnx.load(path)
    for value in model.graph.input:
        if value.name in inputs:
            shape = value.type.tensor_type.shape
            for dim, size in zip(shape.dim, inputs[value.name].shape, strict=True):
                dim.dim_value = size
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(inputs)), strict=True))


def imported(path: Path, directory: Path, *options: str) -> spirloom.Model:
    """The model, imported by the command line."""
    out = directory / "model.slg"
    assert main(["import", str(path), "-o", str(out), *options]) == 0
    return spirloom.load(out)


def run(model: spirloom.Model, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs by name."""
    names = [tensor.name for tensor in model.outputs]
    return dict(zip(names, model(**inputs), strict=True))


def assert_close(found: Mapping[str, Array], wanted: Mapping[str, Array], tolerance: float) -> None:
    """Each element differs by at most `tolerance` of the output's maximum magnitude."""
    assert found.keys() == wanted.keys()
    for name, reference in wanted.items():
        assert found[name].shape == reference.shape, name
        wide = reference.astype(np.float64)
        error = np.abs(found[name] - wide).max() / np.abs(wide).max()
        assert error <= tolerance, f"{name}: {error:.1e}"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_float32(case: Case, tmp_path: Path) -> None:
    inputs = case.inputs()
    wanted = expected(case.path, inputs)
    found = run(imported(case.path, tmp_path, *case.options), inputs)
    assert_close(found, wanted, case.tolerance)
    assert case.answer(found) == case.answer(wanted)
    if case.expected is not None:
        assert case.answer(found) == case.expected


@pytest.mark.parametrize("name", part(list(CASES), SAMPLE))
def test_float16(name: str, tmp_path: Path) -> None:
    """The answer is that of ONNX Runtime in float32."""
    case = CASES[name]
    inputs = case.inputs()
    found = run(imported(case.path, tmp_path, *case.options, "--fp16"), inputs)
    assert all(np.isfinite(output).all() for output in found.values())
    assert case.answer(found) == case.answer(expected(case.path, inputs))


@pytest.mark.parametrize("name", SILERO)
def test_streamed_speech(name: str, tmp_path: Path) -> None:
    """Silero VAD's graphs with branches on the sampling rate; the state is in the model."""
    path = MODELS / f"silero_vad/data/{name}.onnx"
    rate = np.array(signals.SPEECH_RATE, np.int64)
    np.save(tmp_path / "rate.npy", rate)
    shapes = ("--shape", "input=1,576", "--shape", "state=2,1,128")
    constant = ("--constant-input", f"sr={tmp_path / 'rate.npy'}")
    model = imported(path, tmp_path, *shapes, *constant, "--state", "state=stateN")
    found, wanted = [], []
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    state = np.zeros((2, 1, 128), np.float32)
    for frame in signals.speech_frames(signals.vowels(2)):
        (score,) = model(frame[None])
        found.append(float(score[0, 0]))
        score, state = session.run(None, {"input": frame[None], "state": state, "sr": rate})
        wanted.append(float(score[0, 0]))
    assert np.allclose(found, wanted, rtol=0, atol=1e-4)
    assert min(wanted) < 0.1 < 0.9 < max(wanted)


def test_recordings_of_any_length(tmp_path: Path) -> None:
    """One import with a range of sizes."""
    case = CASES["silero_v6"]
    model = imported(case.path, tmp_path, "--dim", "seq_len=1..100")
    inputs = case.inputs()
    for frames in (1, 7, len(inputs["input"])):
        part = inputs | {"input": inputs["input"][:frames]}
        assert_close(run(model, part), expected(case.path, part), case.tolerance)


def test_lines_of_any_width(tmp_path: Path) -> None:
    """The attention that a pass finds has no keys for narrow lines, so that the range is narrowed:
    a guard of docs/how-to/dynamic-shapes.md.
    """
    case = CASES["ppocr4_recognition"]
    width = f"{PADDLE}.1"
    sizes = ("--dim", "p2o.DynamicDimension.0=1", "--dim", "x.2=48", "--dim", f"{width}=1..320")
    model = imported(case.path, tmp_path, *sizes)
    assert [(symbol.name, symbol.min, symbol.max) for symbol in model.symbols] == [(width, 5, 320)]
    (guard,) = graph_reader.load(tmp_path / "model.slg").guards
    assert guard.startswith(f"at {width}=1, node 'p2o.Softmax.0 + p2o.MatMul.4'")
    inputs = case.inputs()
    for columns in (320, 5, 77, 320):
        part = {"x": np.ascontiguousarray(inputs["x"][..., :columns])}
        assert_close(run(model, part), expected(case.path, part), case.tolerance)


def test_nodes_without_a_converter_run_on_the_host(tmp_path: Path) -> None:
    """`spirloom.onnx.load` runs any model that ONNX Runtime runs: here with an LSTM of integers."""
    case = CASES["ddddocr_common_old"]
    inputs = case.inputs()
    model = spirloom.onnx.load(case.path, shapes={name: x.shape for name, x in inputs.items()})
    names = [output.name for output in onnx.load(case.path).graph.output]
    found = dict(zip(names, model(*inputs.values()), strict=True))
    assert case.answer(found) == case.expected


@pytest.mark.parametrize(
    ("name", "height", "width", "others"),
    [
        ("ppocr4_detection", f"{PADDLE}.1", f"{PADDLE}.2", {f"{PADDLE}.0": 1}),
        ("ppocr6_detection", "DynamicDimension.1", "DynamicDimension.2", {"DynamicDimension.0": 1}),
        ("nudenet", "height", "width", {"batch": 1}),
    ],
)
def test_images_of_any_size(
    name: str, height: str, width: str, others: Mapping[str, int], tmp_path: Path
) -> None:
    """Detectors halve the image five times: the sizes are multiples of 32."""
    case = CASES[name]
    dims: dict[str, object] = {**others, height: "32*h", width: "32*w", "h": "1..6", "w": "1..6"}
    options = (f"--dim={dimension}={size}" for dimension, size in dims.items())
    model = imported(case.path, tmp_path, *options)
    assert [(symbol.min, symbol.max) for symbol in model.symbols] == [(1, 6), (1, 6)]
    ((key, image),) = case.inputs().items()
    for rows, columns in ((160, 192), (32, 32), (64, 160), (160, 96)):
        top, left = (image.shape[-2] - rows) // 2, 40  # around the text
        part = {key: np.ascontiguousarray(image[..., top : top + rows, left : left + columns])}
        assert_close(run(model, part), expected(case.path, part), 2e-4)
    with pytest.raises(InvalidArgument, match="48.*32"):
        model(**{key: np.ascontiguousarray(image[..., :48, :64])})
