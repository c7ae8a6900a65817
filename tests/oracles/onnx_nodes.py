"""Random ONNX nodes, compared with ONNX Runtime.

.venv-torch/bin/python -m tests.oracles.onnx_nodes --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.passes import optimize

from tests.frontend import reference_run
from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_import import scratch
from tests.oracles.comparison import LIBRARY, arrays_of, check_close, packed_arrays
from tests.oracles.onnx_calls import KINDS, Call

OPSET = 21


def make(choose: random.Random) -> dict[str, bytes]:
    """A model of one node; its second and further inputs are constants or inputs."""
    call = Call(choose)
    choose.choice(KINDS)(call)
    while call.inputs and call.inputs[-1] is None:
        call.inputs.pop()
    given = {f"x{i}": np.asarray(a) for i, a in enumerate(call.inputs) if a is not None}
    names = ["" if a is None else f"x{i}" for i, a in enumerate(call.inputs)]
    constant = {n for n in given if n != "x0" and given[n].dtype == np.int64}
    constant |= {n for n in given if n != "x0" and choose.random() < 0.5}
    if call.op in ("Resize", "Gemm", "QuantizeLinear", "DequantizeLinear", "OneHot", "Pad", "Clip"):
        constant = {n for n in given if n != "x0"}
    outputs = [f"y{i}" for i in range(call.outputs)]
    graph = helper.make_graph(
        [helper.make_node(call.op, names, outputs, **call.attributes)],
        "node",
        [_info(n, a) for n, a in given.items() if n not in constant],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(a, n) for n, a in given.items() if n in constant],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    inputs = {n: a for n, a in given.items() if n not in constant}
    return {"model.onnx": model.SerializeToString(), "inputs.npz": packed_arrays(inputs)}


def _info(name: str, array: Array) -> Any:
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, array.shape)


def run(files: dict[str, bytes]) -> bool:
    """Whether ONNX Runtime and the importer accept the model. Raises if the results differ."""
    import onnxruntime as ort  # type: ignore[import]

    inputs = arrays_of(files["inputs.npz"])
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        model = onnx.load_model_from_string(files["model.onnx"])
        model = onnx.shape_inference.infer_shapes(model)
        session = ort.InferenceSession(model.SerializeToString(), options)
        expected = session.run(None, inputs)
    except Exception:  # the errors of ONNX Runtime have no common type
        return False
    path = scratch() / "model.onnx"
    path.write_bytes(model.SerializeToString())
    try:
        graph = import_model(path, LIBRARY, Shapes())
    except ImportFailure:
        return False
    optimize(graph, LIBRARY)
    given = {t.name: inputs[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    found = reference_run.run(graph, given)
    # ONNX Runtime's quotient of a value and a scale may round to the middle of two integers.
    steps = int(model.graph.node[0].op_type == "QuantizeLinear")
    check_close([found[t.name] for t in graph.outputs], expected, steps=steps)
    return True


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
