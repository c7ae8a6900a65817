"""Networks of real depth and width, imported by each importer in both precisions.

A sample runs (tests/sample.py). SPIRLOOM_REAL_NETWORKS selects names, separated by commas.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.ir import Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options

from spec_model.interval import Interval
from tests.sample import runs_all, seed
from tests.torch.networks import Positional, Tensors
from tests.torch.real_networks import REAL_NETWORKS, make_real_network

LIBRARY = OpLibrary()
# Maximum error, relative to the maximum of the result.
TOLERANCES = {"f32": 1e-4, "fp16": 2e-2}

Make = Callable[[bool], Graph]  # the graph, in fp16 or not


def by_export(name: str, module: torch.nn.Module, inputs: Tensors, _: Path) -> Make:
    exported = torch.export.export(module, (), dict(inputs), strict=False)
    program = program_of(decompose(exported, LIBRARY))
    return lambda fp16: build(program, LIBRARY, Options(ranges=ranges(name), fp16=fp16))


def by_onnx(name: str, module: torch.nn.Module, inputs: Tensors, directory: Path) -> Make:
    path = directory / "net.onnx"
    torch.onnx.export(module, (), path, kwargs=dict(inputs), dynamo=True, external_data=False)
    return lambda fp16: imported(name, path, fp16)


def by_torchscript(name: str, module: torch.nn.Module, inputs: Tensors, directory: Path) -> Make:
    path = directory / "net.onnx"
    positional = Positional(module, list(inputs)).eval()
    torch.onnx.export(
        positional, tuple(inputs.values()), path, input_names=list(inputs), dynamo=False
    )
    return lambda fp16: imported(name, path, fp16)


def imported(name: str, path: Path, fp16: bool) -> Graph:
    graph = import_model(path, LIBRARY, Shapes(ranges=ranges(name)))
    optimize(graph, LIBRARY, fp16)
    return graph


def ranges(name: str) -> dict[str, Interval]:
    return {key: Interval(*ends) for key, ends in REAL_NETWORKS[name].ranges.items()}


IMPORTERS = {"export": by_export, "onnx": by_onnx, "torchscript": by_torchscript}
# The number of networks of a sample.
SAMPLE = {"export": 4, "onnx": 1, "torchscript": 1}


def selected() -> Iterator[tuple[str, str]]:
    """Importers and networks. PyTorch's TorchScript exporter does not support all of them."""
    chosen = os.environ.get("SPIRLOOM_REAL_NETWORKS", "")
    random_networks = random.Random(seed())
    for importer, count in SAMPLE.items():
        names = [
            name
            for name, network in REAL_NETWORKS.items()
            if importer != "torchscript" or network.torchscript
        ]
        sample = random_networks.sample(names, count)
        if chosen or runs_all():
            sample = [name for name in names if runs_all() or name in chosen.split(",")]
        yield from ((importer, name) for name in sample)


def error(graph: Graph, inputs: Mapping[str, torch.Tensor], wanted: torch.Tensor) -> float:
    """The maximum difference, relative to the maximum."""
    model = spirloom.load(graph_file.to_bytes(graph))
    (given,) = model(**{t.name: _array(inputs[t.name]) for t in model.inputs})
    expected = wanted.numpy()
    return float(np.abs(given - expected).max() / np.abs(expected).max())


def _array(tensor: torch.Tensor) -> Any:
    array = tensor.numpy()
    return array.astype(np.int32) if array.dtype == np.int64 else array


@pytest.mark.parametrize(("importer", "name"), selected())
def test_equals_pytorch(importer: str, name: str, tmp_path: Path) -> None:
    module, inputs = make_real_network(name)
    with torch.no_grad():
        wanted = module(**inputs)
    assert wanted.std() > 1e-3  # equal values would compare nothing
    make = IMPORTERS[importer](name, module, inputs, tmp_path)
    errors = {"f32": error(make(False), inputs, wanted), "fp16": error(make(True), inputs, wanted)}
    assert all(errors[dtype] < bound for dtype, bound in TOLERANCES.items()), errors
