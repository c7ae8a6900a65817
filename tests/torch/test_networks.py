"""Networks imported in process, from archives and from ONNX, compared with eager PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options

from spec_model.interval import Interval
from tests.torch.networks import NETWORKS, Positional, Tensors, make_network

LIBRARY = OpLibrary()
F32, F16 = 1e-4, 2e-2
DYNAMIC = [name for name, network in NETWORKS.items() if network.dynamic]


@cache
def exported(name: str) -> Any:
    module, inputs = make_network(name)
    return decompose(torch.export.export(module, (), dict(inputs), strict=False), LIBRARY)


@cache
def case(name: str) -> tuple[Tensors, torch.Tensor]:
    """The arguments, and the result of eager PyTorch."""
    module, inputs = make_network(name)
    with torch.no_grad():
        wanted = module(**inputs)
    assert wanted.abs().max() > 1e-3  # zeros would compare nothing
    return inputs, wanted


def options(name: str, **more: Any) -> Options:
    ranges = {n: Interval(*ends) for n, ends in NETWORKS[name].ranges.items()}
    return Options(ranges=ranges, **more)


def error(data: bytes, inputs: Mapping[str, torch.Tensor], wanted: torch.Tensor) -> float:
    """The maximum difference, relative to the maximum."""
    model = spirloom.load(data)
    (given,) = model(**{t.name: _array(inputs[t.name]) for t in model.inputs})
    expected = wanted.numpy()
    return float(np.abs(given - expected).max() / np.abs(expected).max())


def _array(tensor: torch.Tensor) -> Any:
    array = tensor.numpy()
    return array.astype(np.int32) if array.dtype == np.int64 else array


def test_top_k_scores_of_rtdetr_differ() -> None:
    """With equal scores, the result of RT-DETR's top-k would be arbitrary."""
    module, inputs = make_network("rtdetr")
    with torch.no_grad():
        found = module.model(**inputs)
    scores = found.enc_outputs_class.amax(-1).sort(dim=-1, descending=True).values
    best = scores[:, : found.logits.shape[1] + 1]
    assert (best[:, :-1] - best[:, 1:]).min() > 1e-3 * scores.abs().max()


@pytest.mark.parametrize("name", NETWORKS)
def test_in_process(name: str) -> None:
    graph = build(program_of(exported(name)), LIBRARY, options(name))
    assert error(graph_file.to_bytes(graph), *case(name)) < F32


@pytest.mark.parametrize("name", NETWORKS)
def test_in_fp16(name: str) -> None:
    graph = build(program_of(exported(name)), LIBRARY, options(name, fp16=True))
    assert error(graph_file.to_bytes(graph), *case(name)) < F16


@pytest.mark.parametrize("name", NETWORKS)
def test_archive_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    torch.export.save(exported(name), tmp_path / "net.pt2")
    from_archive = build(read_archive(tmp_path / "net.pt2"), LIBRARY, options(name))
    in_process = build(program_of(exported(name)), LIBRARY, options(name))
    assert graph_file.to_bytes(from_archive) == graph_file.to_bytes(in_process)


@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic_sizes(name: str) -> None:
    """Exported once, compared at two other sizes."""
    module, inputs = make_network(name)
    dims = {key: torch.export.Dim(key, min=1, max=12 if key == "seq" else 4)
            for shape in NETWORKS[name].dynamic.values() for key in shape.values()}  # fmt: skip
    shapes = {
        key: {dim: dims[n] for dim, n in NETWORKS[name].dynamic.get(key, {}).items()}
        for key in inputs
    }
    program = torch.export.export(
        Positional(module, list(inputs)),
        tuple(inputs.values()),
        dynamic_shapes={"args": tuple(shapes.values())},
        strict=False,
    )
    names = [f"args_{list(inputs).index(key)}" for key in NETWORKS[name].ranges]
    bounds = [Interval(*pair) for pair in NETWORKS[name].ranges.values()]
    chosen = Options(ranges=dict(zip(names, bounds, strict=True)))
    graph = build(program_of(decompose(program, LIBRARY)), LIBRARY, chosen)
    model = spirloom.load(graph_file.to_bytes(graph))
    assert len(model.symbols) == len(dims)
    for batch, length in ((1, 5), (3, 11)):
        given = {k: _sized(v, NETWORKS[name].dynamic.get(k, {}), batch, length)
                 for k, v in inputs.items()}  # fmt: skip
        with torch.no_grad():
            wanted = module(**given).numpy()
        (result,) = model(*map(_array, given.values()))
        assert np.abs(result - wanted).max() / np.abs(wanted).max() < F32


def _sized(tensor: torch.Tensor, dims: dict[int, str], batch: int, length: int) -> torch.Tensor:
    """The tensor with dimensions cut or repeated to the sizes."""
    for dim, name in dims.items():
        size = batch if name == "batch" else length
        tensor = tensor.index_select(dim, torch.arange(size) % tensor.shape[dim])
    return tensor.contiguous()


@pytest.mark.parametrize("name", NETWORKS)
def test_by_onnx(name: str, tmp_path: Path) -> None:
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.inputs import Shapes

    module, _ = make_network(name)
    inputs, wanted = case(name)
    path = tmp_path / "net.onnx"
    torch.onnx.export(module, (), path, kwargs=dict(inputs), dynamo=True, external_data=False)
    ranges = {n: Interval(*ends) for n, ends in NETWORKS[name].ranges.items()}
    graph = import_model(path, LIBRARY, Shapes(ranges=ranges))
    optimize(graph, LIBRARY)
    assert error(graph_file.to_bytes(graph), inputs, wanted) < F32
