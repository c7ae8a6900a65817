"""Layers whose calls differ at fixed and dynamic sizes: the import compares results.

At fixed sizes, initial states of zeros are absent and constants of sizes are weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from torch import nn
from torch.export import Dim

LARGEST = 12
TOLERANCE = 1e-4


class Module(nn.Module):  # type: ignore[misc]
    """A function of a layer and an input."""

    def __init__(self, function: Callable[[Any, Any], Any], layer: nn.Module | None = None) -> None:
        super().__init__()
        self.layer = layer
        self._function = function

    def forward(self, x: Any) -> Any:
        return self._function(self.layer, x)


def _layer(layer: nn.Module) -> Module:
    return Module(lambda layer, x: layer(x)[0], layer)


WINDOW = torch.hann_window(16)
# By name: the module, the shape of its input for n, and the dynamic dimension.
LAYERS: dict[str, tuple[Module, Callable[[int], tuple[int, ...]], int]] = {
    "gru": (_layer(nn.GRU(3, 4)), lambda n: (5, n, 3), 1),
    "gru of both directions": (_layer(nn.GRU(3, 4, bidirectional=True)), lambda n: (5, n, 3), 1),
    "gru of two layers": (_layer(nn.GRU(3, 4, 2, batch_first=True)), lambda n: (n, 5, 3), 0),
    "lstm": (_layer(nn.LSTM(3, 4)), lambda n: (5, n, 3), 1),
    "lstm with a projection": (_layer(nn.LSTM(3, 4, proj_size=2)), lambda n: (5, n, 3), 1),
    "rnn": (_layer(nn.RNN(3, 4)), lambda n: (5, n, 3), 1),
    "spectrum": (
        Module(lambda _, x: torch.fft.rfft(x, dim=1).abs()), lambda n: (n, 16), 0
    ),
    "spectrogram": (
        Module(lambda _, x: torch.stft(x, 16, 8, window=WINDOW, return_complex=True).abs()),
        lambda n: (n, 64), 0,
    ),
    "identity": (Module(lambda _, x: x @ torch.eye(x.shape[1])), lambda n: (2, n), 1),
    "triangle": (
        Module(lambda _, x: torch.ones(x.shape[0], x.shape[0]).tril() @ x), lambda n: (n, 4), 0
    ),
}  # fmt: skip


@pytest.mark.parametrize("smallest", [1, 2, 3])
@pytest.mark.parametrize("name", LAYERS)
def test_all_sizes(name: str, smallest: int) -> None:
    module, shape, axis = LAYERS[name]
    dynamic = {axis: Dim("n", min=smallest, max=LARGEST)}
    exported = spirloom.torch.export(
        module.eval(), (torch.randn(shape(7)),), dynamic_shapes={"x": dynamic}
    )
    model = spirloom.load(exported)
    for n in (smallest, smallest + 1, 5, LARGEST):
        x = torch.randn(shape(n))
        with torch.no_grad():
            expected = module(x).numpy()
        (found,) = model(x.numpy())
        np.testing.assert_allclose(found, expected, TOLERANCE, TOLERANCE, err_msg=f"n={n}")
