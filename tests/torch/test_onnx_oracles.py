"""Imported operators compared with ONNX's reference implementation and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import]
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.case.test_case import TestCase
from spirloom.ir import Array
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary

from tests.frontend import reference_run
from tests.frontend.models import random

OPERATORS = ("Attention", "RMSNormalization", "RotaryEmbedding", "Swish", "TensorScatter")
OPSET = 25
TYPES = (TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64)
# Score outputs that differ between releases of ONNX.
UNCLEAR = (1, 2)


def _cases() -> Iterator[TestCase]:
    """ONNX's test cases, with the opset that introduced the operators."""
    for op in OPERATORS:
        for case in collect_testcases(op):
            nodes, inputs = case.model.graph.node, case.model.graph.input
            ours = all(i.type.tensor_type.elem_type in TYPES for i in inputs)
            if len(nodes) == 1 and ours and _is_clear(nodes[0]):
                yield case


def _is_clear(node: onnx.NodeProto) -> bool:
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    single = given.get("softmax_precision", TensorProto.FLOAT) == TensorProto.FLOAT
    return single and given.get("qk_matmul_output_mode", 0) not in UNCLEAR


LIBRARY = OpLibrary()


def _run(model: onnx.ModelProto, inputs: dict[str, Array], directory: Path) -> list[Array]:
    path = directory / "model.onnx"
    path.write_bytes(model.SerializeToString())
    graph = import_model(path, LIBRARY, Shapes())
    arrays = {t.name: inputs[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    results = reference_run.run(graph, arrays)
    return [results[info.name] for info in model.graph.output]


# collect_testcases() also returns the cases of earlier calls.
CASES = {case.name: case for case in _cases()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_onnx_agrees(case: TestCase, tmp_path: Path) -> None:
    model = case.model
    for imported in model.opset_import:
        imported.version = min(imported.version, OPSET)
    for inputs, outputs in case.data_sets:
        named = dict(zip((i.name for i in model.graph.input), inputs, strict=True))
        results = _run(model, named, tmp_path)
        for result, expected in zip(results, outputs, strict=True):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


WIDE = random(2, 5, 32)
X, SKIP = random(2, 5, 8, seed=1), random(2, 5, 8, seed=2)
ROW, ROWS = random(8, seed=3), random(9, 2, seed=4)
LENGTHS = {"n": np.array([4, 4], np.int32), "t": np.array(5, np.int32)}
# Operator, input names (`-`: absent), attributes, arrays.
RUNTIME_CASES: list[tuple[str, str, dict[str, object], dict[str, Array]]] = [
    ("FusedMatMul", "a b", {"alpha": 0.5, "transB": 1}, {"a": X, "b": SKIP}),
    ("FusedMatMul", "a b", {"transA": 1}, {"a": X, "b": SKIP}),
    ("FusedMatMul", "a b", {"transBatchA": 1, "transBatchB": 1, "transB": 1},
     {"a": random(2, 3, 4, 5), "b": random(6, 3, 4, 5)}),
    ("Gelu", "x", {}, {"x": X}),
    ("FastGelu", "x b", {}, {"x": X, "b": ROW}),
    ("BiasGelu", "x b", {}, {"x": X, "b": ROW}),
    ("QuickGelu", "x", {"alpha": 1.5}, {"x": X}),
    ("SkipLayerNormalization", "x k g e b", {"epsilon": 1e-3},
     {"x": X, "k": SKIP, "g": ROW, "e": ROW + 1, "b": ROW - 1}),
    ("SkipSimplifiedLayerNormalization", "x k g", {"epsilon": 1e-3}, {"x": X, "k": SKIP, "g": ROW}),
    ("RotaryEmbedding", "x p c s", {"num_heads": 2},
     {"x": X, "p": np.array([[0, 1, 2, 3, 4], [4, 8, 0, 1, 2]]), "c": ROWS, "s": ROWS + 1}),
    ("RotaryEmbedding", "x p c s", {"interleaved": 1},
     {"x": random(2, 3, 5, 4), "p": np.array([3]), "c": ROWS, "s": ROWS + 1}),
    ("MultiHeadAttention", "q k v b p", {"num_heads": 2},
     {"q": X, "k": SKIP, "v": X, "b": random(24),
      "p": np.array([[1] * 5, [1, 1, 0, 0, 0]], np.int32)}),
    ("MultiHeadAttention", "q k v - - a", {"num_heads": 2, "scale": 0.3, "unidirectional": 1},
     {"q": X, "k": SKIP, "v": X, "a": random(1, 2, 5, 5)}),
    ("GroupQueryAttention", "q k v - - n t c s",
     {"num_heads": 2, "kv_num_heads": 1, "do_rotary": 1},
     {"q": WIDE, "k": WIDE[..., :16].copy(), "v": WIDE[..., 16:].copy(),
      "c": random(9, 8), "s": random(9, 8, seed=5)} | LENGTHS),
    ("GroupQueryAttention", "q - - - - n t", {"num_heads": 2, "kv_num_heads": 1, "softcap": 0.7},
     {"q": random(2, 5, 64)} | LENGTHS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "names", "attributes", "arrays"),
    [pytest.param(*case, id=f"{case[0]}{i}") for i, case in enumerate(RUNTIME_CASES)],
)
def test_onnx_runtime_agrees(
    op: str, names: str, attributes: dict[str, object], arrays: dict[str, Array], tmp_path: Path
) -> None:
    inputs = ["" if name == "-" else name for name in names.split()]
    outputs = ["y", "key", "value"] if op.startswith("Group") else ["y"]
    node = helper.make_node(op, inputs, outputs, op, domain="com.microsoft", **attributes)
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in arrays.items()
    ]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(
        helper.make_graph([node], op, given, results), opset_imports=opsets, ir_version=8
    )
    session = onnxruntime.InferenceSession(model.SerializeToString())
    expected = session.run(outputs[:1], arrays)
    np.testing.assert_allclose(_run(model, arrays, tmp_path)[0], expected[0], rtol=1e-4, atol=1e-5)
