"""Models that contradict themselves and attributes that are not read are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from spirloom.errors import ImportFailure
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary

from tests.frontend.models import imported, model, node, random


def stating(made: ModelProto, name: str, shape: list[int | str | None]) -> ModelProto:
    """The model with a shape for a value."""
    infos = {info.name: info for info in made.graph.output}
    info = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    if name in infos:
        infos[name].CopyFrom(info)
    else:
        made.graph.value_info.append(info)
    return made


def network(batch: int | str = 2) -> ModelProto:
    """x → Relu → h → Reshape to [6, -1] → y."""
    return model(
        [node("Relu", "x", "h"), node("Reshape", "h shape")],
        inputs={"x": [batch, 3, 4]},
        constants={"shape": np.array([6, -1])},
    )


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("y", [6, 5], r"its output 'y' has the shape \[6, 4\]; the model states \[6, 5\]"),
        ("h", [2, None, 5], r"Relu, Relu_h: its output 'h' .*\[2, 3, 4\]; .* states \[2, \?, 5\]"),
        ("y", [6], r"the shape \[6, 4\]; the model states \[6\].*--ignore-stated-shapes"),
    ],
)
def test_contradicted_shapes(
    name: str, shape: list[int | str | None], message: str, library: OpLibrary, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Where ONNX's inference does not know the shape, the model is trusted."""
    monkeypatch.setattr("spirloom.onnx.shape_inference.ModelInference.shape_of", lambda *_: None)
    made = stating(network(), name, shape)
    with pytest.raises(ImportFailure, match=message):
        imported(made, library, tmp_path)
    imported(made, library, tmp_path, Shapes(ignore_stated=True))


@pytest.mark.parametrize("shape", [[6, 4], [6, None], ["n", "m"], [0, 4], [1, None, 1]])
def test_open_and_equal_shapes(
    shape: list[int | str | None], library: OpLibrary, tmp_path: Path
) -> None:
    imported(stating(network(), "y", shape), library, tmp_path)


def test_obsolete_shapes(library: OpLibrary, tmp_path: Path) -> None:
    """The batch of an edited model is open, but its values keep their shapes of batch 1."""
    made = stating(network("batch"), "h", [1, 3, 4])
    imported(made, library, tmp_path, Shapes({"batch": 2}))


def test_shapes_of_other_inputs(library: OpLibrary, tmp_path: Path) -> None:
    """--shape may contradict a fixed input. Then all shapes in the model are obsolete."""
    made = stating(stating(network(), "h", [2, 3, 4]), "y", [6, 4])
    imported(made, library, tmp_path, Shapes(inputs={"x": (4, 3, 4)}))


def contrib(op: str, names: str, shapes: dict[str, list[int]], **attributes: float) -> ModelProto:
    """A model of one operator of ONNX Runtime."""
    call = helper.make_node(op, names.split(), ["y"], op, **attributes)
    call.domain = "com.microsoft"
    made = model([call], dict(shapes))
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def test_attributes_that_are_not_read(library: OpLibrary, tmp_path: Path) -> None:
    made = contrib("QuickGelu", "x", {"x": [2, 3]}, alpha=1.5, beta=2.0)
    with pytest.raises(ImportFailure, match=r"QuickGelu.*its attribute beta=2.0 is not supported"):
        imported(made, library, tmp_path)
    imported(contrib("QuickGelu", "x", {"x": [2, 3]}, alpha=1.5, beta=0.0), library, tmp_path)


def test_attributes_without_effect(library: OpLibrary, tmp_path: Path) -> None:
    constants = {"s": np.ones(3, np.float32), "b": np.zeros(3, np.float32)}
    made = model(
        [node("LayerNormalization", "x s b", axis=-1, stash_type=TensorProto.BFLOAT16)],
        {"x": [2, 3]},
        constants,
        opset=17,
    )
    imported(made, library, tmp_path)
    made.graph.node[0].attribute[-1].i = TensorProto.DOUBLE
    with pytest.raises(ImportFailure, match="its attribute stash_type=11 is not supported"):
        imported(made, library, tmp_path)


def test_contradictory_attributes(library: OpLibrary, tmp_path: Path) -> None:
    weights = {"w": random(1, 8, 3), "r": random(1, 8, 2)}
    made = model([node("LSTM", "x w r", "- y", hidden_size=4)], {"x": [5, 1, 3]}, weights)
    with pytest.raises(ImportFailure, match="its hidden_size is not 2"):
        imported(made, library, tmp_path)
    halves = model([node("Split", "x", "y z", num_outputs=3)], {"x": [6]}, opset=18)
    with pytest.raises(ImportFailure, match="its num_outputs is not 2|num_outputs"):
        imported(halves, library, tmp_path)
