"""Partitioned ONNX models compared with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import]
import pytest
import spirloom.onnx

from tests.frontend.partition_models import CASES, Case


@pytest.mark.parametrize("host", ["onnxruntime", "reference"])
@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_partitions_agree_with_onnx_runtime(case: Case, host: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(case.model().SerializeToString())
    model = spirloom.onnx.load(path, host=host, stay=case.stay)
    expected = onnxruntime.InferenceSession(path).run(None, dict(case.inputs))
    for results in (model(**case.inputs), model(*case.inputs.values())):
        for result, right in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (right.dtype, right.shape)
            np.testing.assert_allclose(result, right, rtol=1e-3, atol=1e-3)
    on_host = {node.op for node in model.report.on_host if "not worth" not in node.reason}
    assert on_host == set(case.stays.split())


def test_results_do_not_share_memory_with_inputs(tmp_path: Path) -> None:
    case = CASES["passed_on"]
    path = tmp_path / "model.onnx"
    path.write_bytes(case.model().SerializeToString())
    model = spirloom.onnx.load(path, host="reference")
    x = case.inputs["x"].copy()
    first = model(x)
    for result in first:
        assert not np.may_share_memory(result, x)
        result[...] = 0
    np.testing.assert_array_equal(x, case.inputs["x"])
    np.testing.assert_array_equal(model(x)[1], x.shape)
