"""NonMaxSuppression on the device, and what follows it, compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import]
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from spirloom import Model, Runtime, graph_file
from spirloom.errors import NodesUnsupported
from spirloom.ir import Array
from spirloom.onnx.dtypes import onnx_type
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize

from tests import sample
from tests.frontend.models import node, random

LIBRARY = OpLibrary()
IOU = 0.4142  # no quotient of the areas of the boxes below


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Array],
    constants: Mapping[str, Array],
    outputs: Mapping[str, int],
) -> ModelProto:
    infos = [
        helper.make_tensor_value_info(name, onnx_type(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    results = [helper.make_tensor_value_info(n, kind, None) for n, kind in outputs.items()]
    values = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(list(nodes), "detector", infos, results, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def loaded(model: ModelProto, directory: Path) -> Model:
    path = directory / "model.onnx"
    onnx.save(model, path)
    graph = import_model(path, LIBRARY, Shapes())
    optimize(graph, LIBRARY)
    return Runtime().load(graph_file.to_bytes(graph))


def expected(model: ModelProto, inputs: Mapping[str, Array]) -> list[Any]:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found: list[Any] = session.run(None, dict(inputs))
    return found


def thresholds(limit: int, score: float | None, iou: float = IOU) -> dict[str, Array]:
    found: dict[str, Array] = {
        "limit": np.array([limit], np.int64),
        "iou": np.array([iou], np.float32),
    }
    return found if score is None else found | {"score": np.array([score], np.float32)}


def boxes_and_scores(
    batches: int, classes: int, count: int, levels: int, seed: int
) -> dict[str, Array]:
    """Boxes of whole coordinates up to 32; scores have `levels` values, so that many are equal."""
    values = np.random.default_rng(seed)
    boxes = values.integers(0, 32, (batches, count, 4)).astype(np.float32)
    scores = values.integers(-levels // 2, levels // 2, (batches, classes, count))
    return {"boxes": boxes, "scores": scores.astype(np.float32) / 4}


@pytest.mark.parametrize(
    ("batches", "classes", "count", "limit", "levels", "score", "center"),
    [
        (1, 1, 40, 40, 100, None, 0),
        (2, 3, 60, 7, 12, -0.9, 0),
        (1, 2, 300, 20, 9, 0.3, 1),
        (3, 1, 5, 100, 4, -9.0, 1),  # more than there are boxes
        (1, 2, 20, 3, 8, 50.0, 0),  # none is selected
        (1, 2, 20, 0, 8, None, 0),
    ],
)
def test_selects_what_onnx_runtime_selects(
    batches: int,
    classes: int,
    count: int,
    limit: int,
    levels: int,
    score: float | None,
    center: int,
    tmp_path: Path,
) -> None:
    seed = sample.seed()
    inputs = boxes_and_scores(batches, classes, count, levels, seed)
    constants = thresholds(limit, score)
    names = f"boxes scores {' '.join(constants)}"
    nodes = [node("NonMaxSuppression", names, "selected", center_point_box=center)]
    model = model_of(nodes, inputs, constants, {"selected": TensorProto.INT64})
    found = loaded(model, tmp_path)
    (wanted,) = expected(model, inputs)
    (selected,) = found(**inputs)
    np.testing.assert_array_equal(selected, wanted)
    (selected,) = found.submit(**inputs).result()
    np.testing.assert_array_equal(selected, wanted)


HEAD: dict[str, Array] = {
    "w": random(16, 3, 3, 3, seed=1), "w_boxes": random(4, 16, 1, 1, seed=2),
    "w_scores": random(5, 16, 1, 1, seed=3) / 64, "to_boxes": np.array([1, 4, 64], np.int64),
    "to_scores": np.array([1, 5, 64], np.int64), "column": np.array([2], np.int64),
    "label": np.array([1], np.int64),
    "one": np.array([1], np.int64), "zero": np.array([0], np.int64),
    "pair": np.array([-1, 1], np.int64), "half": np.array(0.5, np.float32),
}  # fmt: skip
NODES = [
    node("Conv", "x w", "features", pads=[1, 1, 1, 1]),
    node("Relu", "features", "active"),
    node("Conv", "active w_boxes", "raw"), node("Abs", "raw", "positive"),
    node("Reshape", "positive to_boxes", "columns"),
    node("Transpose", "columns", "boxes", perm=[0, 2, 1]),
    node("Conv", "active w_scores", "logits"), node("Sigmoid", "logits", "likely"),
    node("Reshape", "likely to_scores", "scores"),
    node("NonMaxSuppression", "boxes scores limit iou score", "selected", center_point_box=1),
]  # fmt: skip
ANSWERS = [
    node("Gather", "selected column", "box_columns", axis=1),
    node("Squeeze", "box_columns one", "box"),
    node("Squeeze", "boxes zero", "own_boxes"),
    node("Gather", "own_boxes box", "rows", axis=0),
    node("Mul", "rows half", "detections"),
    node("Gather", "selected label", "label_columns", axis=1),
    node("Reshape", "label_columns pair", "labels"),
    node("Slice", "selected one end one", "pairs"),
    node("Squeeze", "scores zero", "own_scores"),
    node("GatherND", "own_scores pairs", "confidences"),
    node("Unsqueeze", "confidences one", "confidence_column"),
    node("Cast", "labels", "label_values", to=TensorProto.FLOAT),
    node("Concat", "detections confidence_column label_values", "table", axis=1),
]


def test_post_processing_of_a_detector(tmp_path: Path) -> None:
    inputs = {"x": random(1, 3, 8, 8, seed=5)}
    constants = HEAD | thresholds(6, 0.2) | {"end": np.array([3], np.int64)}
    outputs = {"table": TensorProto.FLOAT, "labels": TensorProto.INT64}
    model = model_of([*NODES, *ANSWERS], inputs, constants, outputs)
    detector = loaded(model, tmp_path)
    assert [info.name for info in detector.outputs] == ["table", "labels", "table.size"]
    for seed in range(5, 9):
        inputs = {"x": random(1, 3, 8, 8, seed=seed)}
        table, labels = expected(model, inputs)
        found = detector(**inputs)
        assert len(found) == 2 and len(table) > 0
        np.testing.assert_allclose(found[0], table, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(found[1], labels)


@pytest.mark.parametrize(
    "after",
    [
        node("ReduceSum", "selected zero", "y"),
        node("Shape", "selected", "y"),
        node("TopK", "selected one", "y index", axis=0),
        node("Concat", "selected selected", "y", axis=0),
        node("Slice", "selected zero one zero", "y"),
    ],
    ids=["ReduceSum", "Shape", "TopK", "Concat", "Slice"],
)
def test_operators_that_mix_valid_rows_with_others_are_refused(
    after: NodeProto, tmp_path: Path
) -> None:
    inputs = {"x": random(1, 3, 8, 8, seed=5)}
    constants = HEAD | thresholds(6, 0.2)
    model = model_of([*NODES, after], inputs, constants, {"y": TensorProto.INT64})
    with pytest.raises(NodesUnsupported, match="the size of its input 'selected' depends on the"):
        loaded(model, tmp_path)
