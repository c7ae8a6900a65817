"""Models of operators that the suite does not cover, or not by a single Spirloom operator."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary

OPSET = 21


@dataclass(frozen=True, slots=True)
class Model:
    """One node: the shapes of its inputs, then constant inputs, and attributes."""

    op: str
    shapes: Sequence[Sequence[int]]
    attributes: Mapping[str, object] = field(default_factory=dict)
    constants: Sequence[Sequence[int]] = ()
    dtype: int = TensorProto.FLOAT

    def proto(self) -> ModelProto:
        inputs = [
            helper.make_tensor_value_info(f"x{i}", self.dtype, shape)
            for i, shape in enumerate(self.shapes)
        ]
        constants = [
            numpy_helper.from_array(np.array(values, dtype=np.int64), f"c{i}")
            for i, values in enumerate(self.constants)
        ]
        names = [value.name for value in (*inputs, *constants)]
        node = helper.make_node(self.op, names, ["y"], **self.attributes)
        output = helper.make_tensor_value_info("y", self.dtype, None)
        graph = helper.make_graph([node], self.op, inputs, [output], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])


MODELS = (
    *(
        Model(f"Bitwise{name}", [[3], [3]], dtype=TensorProto.INT32)
        for name in ("And", "Or", "Xor")
    ),
    Model("BitwiseNot", [[3]], dtype=TensorProto.INT32),
    Model("Col2Im", [[1, 4, 4]], constants=[[3, 3], [2, 2]]),
    Model("CumSum", [[3]], constants=[[0]]),
    Model("Gelu", [[3]]),
    Model("GroupNormalization", [[1, 4, 3, 3], [4], [4]], {"num_groups": 2}),
    Model("HardSigmoid", [[3]], {"alpha": 1 / 6}),
    Model("LayerNormalization", [[2, 3], [3], [3]]),
    Model("Mish", [[3]]),
    Model("Trilu", [[3, 3]], {"upper": 0}, constants=[[0]]),
    Model("Trilu", [[3, 3]], {"upper": 1}, constants=[[0]]),
)


def more_operators(library: OpLibrary) -> Iterator[tuple[str, set[str]]]:
    """Each ONNX operator, with the operators of its graph."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for model in MODELS:
            path.write_bytes(model.proto().SerializeToString())
            yield model.op, {node.op for node in import_model(path, library, Shapes()).nodes}
