"""One ONNX node, imported and compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import]
from onnx import ModelProto, TensorProto, helper, numpy_helper
from spirloom.ir import Array
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary

from tests.frontend import reference_run

LIBRARY = OpLibrary()
Arrays = dict[str, Array]


def model_of(
    op: str,
    names: str,
    arrays: Arrays,
    constants: Arrays,
    attributes: Mapping[str, object],
    result: int = TensorProto.FLOAT,
    opset: int = 21,
) -> ModelProto:
    """A model of one node with the output y. `names` are its inputs; `-` is an absent one."""
    inputs = ["" if name == "-" else name for name in names.split()]
    domain, _, op = op.rpartition(".")
    node = helper.make_node(op, inputs, ["y"], domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        op,
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in arrays.items()
        ],
        [helper.make_tensor_value_info("y", result, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9 if opset < 24 else 11)


def run_imported(model: ModelProto, arrays: Arrays, directory: Path) -> Array:
    """The output y of the imported model, by the operators' references."""
    path = directory / "model.onnx"
    path.write_bytes(model.SerializeToString())
    graph = import_model(path, LIBRARY, Shapes())
    given = {t.name: arrays[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    return reference_run.run(graph, given)["y"]


def check(
    op: str,
    names: str,
    arrays: Arrays,
    constants: Arrays,
    tmp_path: Path,
    attributes: Mapping[str, object],
    result: int = TensorProto.FLOAT,
    opset: int = 21,
    tolerance: float = 1e-5,
) -> None:
    """Compares the output of one node with ONNX Runtime's."""
    model = model_of(op, names, arrays, constants, attributes, result, opset)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, arrays)
    found = run_imported(model, arrays, tmp_path)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    tolerance = 1e-3 if expected.dtype == np.float16 else tolerance
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
