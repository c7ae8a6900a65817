"""Recurrent networks as PyTorch exports them, and unsupported ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from torch import nn

from tests.frontend import reference_run
from tests.frontend.models import compute, imported, model, node, ops, random
from tests.onnx_export import export_traced

CELLS: dict[str, Callable[..., Any]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "rnn": nn.RNN,
    "relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no_bias": {"bias": False},
    "batch_first": {"batch_first": True},
    "bidirectional": {"bidirectional": True},
    "layers": {"num_layers": 3, "bidirectional": True, "batch_first": True},
}


class Packed(nn.Module):  # type: ignore[misc]
    """A layer over packed sequences of several lengths."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any, lengths: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths)
        y, last = self.layer(packed)
        return nn.utils.rnn.pad_packed_sequence(y)[0], last


def check(module: Any, inputs: dict[str, Any], library: OpLibrary, folder: Path) -> Graph:
    """Imports an export of the module, and compares every output with PyTorch's."""
    path = folder / "m.onnx"
    args = tuple(inputs.values())
    export_traced(module, args, path, opset_version=14, input_names=list(inputs))
    with torch.no_grad():
        results = module(*args)
    graph = import_model(path, library, Shapes())
    optimize(graph, library)
    arrays = {t.name: inputs[t.name].numpy().astype(t.dtype.numpy) for t in graph.inputs}
    computed = reference_run.run(graph, arrays).values()
    for actual, expected in zip(computed, flat(results), strict=True):
        np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-5, atol=1e-6)
    return graph


def flat(value: Any) -> list[Any]:
    """The tensors of nested tuples."""
    return [value] if torch.is_tensor(value) else [t for part in value for t in flat(part)]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("cell", CELLS)
def test_export(cell: str, options: str, library: OpLibrary, tmp_path: Path) -> None:
    torch.manual_seed(1)
    layer = CELLS[cell](4, 5, **OPTIONS[options])
    graph = check(layer, {"x": torch.randn(3, 2, 4)}, library, tmp_path)
    directions = 2 if layer.bidirectional else 1
    recurrent = f"spirloom.{'rnn' if cell == 'relu' else cell}_layer"
    assert ops(graph).count(recurrent) == ops(graph).count("aten.linear")
    assert ops(graph).count(recurrent) == directions * layer.num_layers


@pytest.mark.parametrize("cell", CELLS)
def test_initial_state(cell: str, library: OpLibrary, tmp_path: Path) -> None:
    torch.manual_seed(2)
    layer = CELLS[cell](4, 5, bidirectional=True)

    class WithState(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any, h: Any, c: Any = None) -> Any:
            return self.layer(x, h if c is None else (h, c))

    named = {"x": torch.randn(7, 3, 4), "h": torch.randn(2, 3, 5)}
    if cell == "lstm":
        named["c"] = torch.randn(2, 3, 5)
    check(WithState(), named, library, tmp_path)


@pytest.mark.parametrize("cell", CELLS)
def test_lengths(cell: str, library: OpLibrary, tmp_path: Path) -> None:
    torch.manual_seed(3)
    module = Packed(CELLS[cell](4, 5, bidirectional=True))
    inputs = {"x": torch.randn(6, 3, 4), "lengths": torch.tensor([6, 3, 1])}
    graph = check(module, inputs, library, tmp_path)
    assert [t.name for t in graph.inputs] == ["x", "lengths"]


def gru(library: OpLibrary, folder: Path, **attributes: object) -> Graph:
    weights = {"w": random(1, 9, 2), "r": random(1, 9, 3)}
    layer = node("GRU", "x w r", "y h", hidden_size=3, **attributes)
    return imported(model([layer], {"x": (4, 2, 2)}, weights, opset=14), library, folder)


def test_clipped_gates_differ(library: OpLibrary, tmp_path: Path) -> None:
    x = random(4, 2, 2)
    free = compute(gru(library, tmp_path), x)
    assert np.allclose(compute(gru(library, tmp_path, clip=1e6), x), free)
    assert not np.allclose(compute(gru(library, tmp_path, clip=0.1), x), free)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"direction": "sideways"}, "its direction 'sideways' is unknown"),
        ({"activations": ["Sigmoid", "Affine"]}, "activations ['Sigmoid', 'Affine'] are not"),
        (
            {"activations": ["HardSigmoid", "Tanh"], "activation_alpha": [0.3]},
            "its activation_alpha [0.3",
        ),
        ({"direction": "bidirectional"}, "do not match"),
    ],
)
def test_errors(
    attributes: dict[str, object], message: str, library: OpLibrary, tmp_path: Path
) -> None:
    with pytest.raises(ImportFailure) as error:
        gru(library, tmp_path, **attributes)
    assert message in str(error.value)
