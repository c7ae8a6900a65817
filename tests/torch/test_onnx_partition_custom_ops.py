"""Nodes of unknown domains: types that the model states are checked in each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnx
import pytest
import spirloom.onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.partition import Costs
from spirloom.runtime import InvalidArgument, InvalidFile, Unsupported

from tests.frontend.models import node, random

FLOAT, INT64, DOUBLE = TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE
EAGER = Costs(host_flops=1, host_bytes=1)  # the device is always worth its transfers
W, X = random(8, 8), random(4, 8, seed=2)


class Magic(OpRun):  # type: ignore[misc]
    """Twice its input, as an operator of a custom domain."""

    op_domain = "com.example"

    def _run(self, x: Array) -> tuple[Array]:
        return (x + x,)


class ArgMaxFrom(OpRun):  # type: ignore[misc]
    """The argmax of each row, plus `first`."""

    op_domain = "com.example"

    def _run(self, x: Array, first: int = 0) -> tuple[Array]:
        return (np.argmax(x, axis=1) + first,)


def host(model: ModelProto) -> Callable[[Mapping[str, Array]], Sequence[Array]]:
    return partial(ReferenceEvaluator(model, new_ops=[Magic, ArgMaxFrom]).run, None)


def model(
    stated: onnx.ValueInfoProto | None, op: str = "Magic", user: str = "MatMul", **attributes: int
) -> ModelProto:
    """y = `user` of the result m of a custom operator; `stated`: the model's type of m."""
    reads = {"Gather": "table m", "MatMul": "m w", "Relu": "m"}[user]
    nodes = [
        node("MatMul", "x w", "h"),
        helper.make_node(op, ["h"], ["m"], "m", domain="com.example", **attributes),
        node(user, reads),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(W, "w"), numpy_helper.from_array(W, "table")],
        value_info=[] if stated is None else [stated],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def of_m(kind: int, shape: Sequence[int | str | None]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info("m", kind, shape)


def saved(model: ModelProto, directory: Path) -> Path:
    path = directory / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("stated", [of_m(FLOAT, [4, 8]), of_m(FLOAT, ["rows", 8]), None])
def test_a_custom_operator_runs_on_its_host(
    stated: onnx.ValueInfoProto | None, tmp_path: Path
) -> None:
    loaded = spirloom.onnx.load(saved(model(stated), tmp_path), host=host)
    (result,) = loaded(X)
    np.testing.assert_allclose(result, 2 * (X @ W) @ W, rtol=1e-4, atol=1e-4)


def test_stated_sizes_keep_the_rest_on_the_device(tmp_path: Path) -> None:
    def on_host(stated: onnx.ValueInfoProto | None) -> dict[str, str]:
        loaded = spirloom.onnx.load(saved(model(stated), tmp_path), host=host)
        return {n.op: n.reason for n in loaded.report.on_host if "not worth" not in n.reason}

    unknown = "the operator domain 'com.example' is unknown"
    assert on_host(of_m(FLOAT, [4, 8])) == {"com.example.Magic": unknown}
    assert on_host(of_m(FLOAT, ["rows", 8])) == {
        "com.example.Magic": unknown,
        "MatMul": "it reads 'm', which has a size that depends on the data",
    }
    assert on_host(None) == {
        "com.example.Magic": unknown, "MatMul": "it reads 'm', whose type is unknown"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        (of_m(FLOAT, [8, 8]), "float32[4, 8]; the model states float32[8, 8]"),
        (of_m(FLOAT, [4, 8, 1]), "float32[4, 8]; the model states float32[4, 8, 1]"),
        (of_m(FLOAT, []), "float32[4, 8]; the model states float32[]"),
        (of_m(TensorProto.INT32, [4, 8]), "float32[4, 8]; the model states int32[4, 8]"),
    ],
)
def test_wrong_types_are_refused(stated: onnx.ValueInfoProto, found: str, tmp_path: Path) -> None:
    loaded = spirloom.onnx.load(saved(model(stated, user="Relu"), tmp_path), host=host, costs=EAGER)
    assert [part.placement for part in loaded.report.segments] == ["device", "host", "device"]
    with pytest.raises(InvalidFile) as error:
        loaded(X)
    assert str(error.value).startswith(f"The host segment (Magic) returned 'm' as {found}.")


def test_indices_out_of_range_are_refused(tmp_path: Path) -> None:
    valid = model(of_m(INT64, [4]), "ArgMaxFrom", "Gather", first=0)
    (result,) = spirloom.onnx.load(saved(valid, tmp_path), host=host)(X)
    np.testing.assert_allclose(result, W[(X @ W).argmax(axis=1)])
    invalid = model(of_m(INT64, [4]), "ArgMaxFrom", "Gather", first=100)
    loaded = spirloom.onnx.load(saved(invalid, tmp_path), host=host, costs=EAGER)
    with pytest.raises(InvalidArgument, match=r"Element 0 \(1\d\d\) of input 'm' is not between"):
        loaded(X)


def test_no_host_supports_a_custom_operator(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure) as error:
        spirloom.onnx.load(saved(model(None), tmp_path))
    lines = str(error.value).splitlines()
    assert lines[0] == "No host supports the nodes (Magic, MatMul):"
    hosts = ["onnxruntime", "reference"] if find_spec("onnxruntime") else ["reference"]
    assert [line.split(":")[0].strip() for line in lines[1:]] == hosts


def test_a_host_that_fails_is_named(tmp_path: Path) -> None:
    def failing(part: ModelProto) -> Callable[[Mapping[str, Array]], Sequence[Array]]:
        def compute(inputs: Mapping[str, Array]) -> Sequence[Array]:
            raise ValueError("no magic\ntoday")

        return compute

    loaded = spirloom.onnx.load(saved(model(None), tmp_path), host=failing)
    with pytest.raises(Unsupported, match="failed: ValueError: no magic today$"):
        loaded(X)
    with pytest.raises(
        ImportFailure, match="no host 'abacus'. The hosts are: onnxruntime, reference"
    ):
        spirloom.onnx.load(saved(model(None), tmp_path), host="abacus")
