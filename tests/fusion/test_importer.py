"""A graph with and without each optimization pass, on the device: same results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import OPTIMIZATIONS, optimize

from tests.fusion.device import Device, distance
from tests.fusion.modules import CASES, Case
from tests.onnx_export import export_traced

# Relative to the norm. f16: rounding of intermediate results that were fused.
BETWEEN = {"f32": 2e-6, "f16": 1.5e-3}
TO_PYTORCH = {"f32": 2e-6, "f16": 1.5e-3}


def export(case: Case, path: Path) -> tuple[Array, list[Array]]:
    """Writes the model. Returns an input and PyTorch's outputs for it."""
    torch.manual_seed(3)
    module = case.module().eval()
    x = 2 * torch.randn(case.shape)
    with torch.no_grad():
        expected = module(x)
    export_traced(
        module,
        (x,),
        path,
        opset_version=13,
        input_names=["x"],
        # The exporter otherwise folds batch norms itself.
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
    )
    outputs = expected if isinstance(expected, tuple) else (expected,)
    return x.numpy(), [y.numpy() for y in outputs]


def count(graph: Graph, op: str | None) -> int:
    return sum(node.op == op for node in graph.nodes)


@pytest.mark.parametrize("name", CASES)
def test_with_and_without(
    name: str, library: OpLibrary, spirloom_run: Path, tmp_path: Path
) -> None:
    case = CASES[name]
    x, expected = export(case, tmp_path / "model.onnx")
    device = Device(spirloom_run, tmp_path)
    for dtype in ("f32", "f16"):
        fused, plain = (import_model(tmp_path / "model.onnx", library, Shapes()) for _ in range(2))
        skip = {"fuse-elementwise"} - {case.skipped}  # chains would fuse ops that other cases count
        optimize(fused, library, fp16=dtype == "f16", skip=skip)
        optimize(plain, library, fp16=dtype == "f16", skip=skip | {case.skipped})
        assert count(fused, case.plain) < count(plain, case.plain)
        assert case.fused is None or count(fused, case.fused) > count(plain, case.fused)
        for storage in ("buffer", "texture3d"):
            results = [device.run(graph, {"x": x}, storage) for graph in (fused, plain)]
            for i, (a, b, r) in enumerate(zip(*results, expected, strict=True)):
                between, outside = distance(a, b), max(distance(a, r), distance(b, r))
                message = f"{dtype} {storage}, output {i}: {between:.1e} and {outside:.1e}"
                print(message)
                assert between < BETWEEN[dtype], message
                assert outside < TO_PYTORCH[dtype], message


def test_every_optimization_is_tried() -> None:
    # test_attention.py, test_convolution.py, frontend/test_quantized_weights.py,
    # frontend/test_integer_layers.py, frontend/test_linear_layers.py
    elsewhere = {
        "simplify-attention", "convolve-2d", "fuse-quantized", "fuse-integers", "merge-equal-calls",
    }  # fmt: skip
    assert {case.skipped for case in CASES.values()} | elsewhere == set(OPTIMIZATIONS)


def test_distance() -> None:
    r = np.array([3.0, 4.0], np.float32)
    assert distance(r, r) == 0
    assert distance(np.array([3.0, 4.5], np.float32), r) == 0.1
    assert distance(np.array([3.0, np.nan], np.float32), r) == float("inf")
    assert distance(r[:1], r) == float("inf")
