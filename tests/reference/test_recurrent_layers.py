"""The references of recurrent layers, compared with PyTorch: both directions, packed sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.reference.library import LIBRARY

STEPS, BATCH, SIZE, UNITS = 6, 3, 4, 5


@pytest.mark.parametrize("lengths", [None, [6, 3, 1]])
@pytest.mark.parametrize("cell", ["LSTM", "GRU", "RNN"])
def test_reference(cell: str, lengths: list[int] | None) -> None:
    torch.manual_seed(1)
    layer = getattr(torch.nn, cell)(SIZE, UNITS, bidirectional=True).double()
    x = torch.randn(STEPS, BATCH, SIZE, dtype=torch.float64)
    h0, c0 = torch.randn(2, 2, BATCH, UNITS, dtype=torch.float64)
    state = (h0, c0) if cell == "LSTM" else h0
    with torch.no_grad():
        if lengths is None:
            y, last = layer(x, state)
        else:
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
            y, last = layer(packed, state)
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y)
        wanted_last = last if isinstance(last, tuple) else (last,)
        for d, suffix in enumerate(("", "_reverse")):
            actual = LIBRARY.ops[f"spirloom.{cell.lower()}_layer"].reference(
                arguments(cell, layer, suffix, x, (h0[d], c0[d]), lengths)
            )
            wanted = [y[..., d * UNITS : (d + 1) * UNITS], *(v[d] for v in wanted_last)]
            for a, w in zip(actual, wanted, strict=True):
                np.testing.assert_allclose(a, w.numpy(), rtol=1e-10, atol=1e-12)


def arguments(
    cell: str, layer: Any, suffix: str, x: Any, state: tuple[Any, Any], lengths: list[int] | None
) -> dict[str, Any]:
    """The arguments of the operator for one direction of PyTorch's layer."""
    w_ih, w_hh, b_ih, b_hh = (
        getattr(layer, f"{name}_l0{suffix}").numpy()
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    op = LIBRARY.ops[f"spirloom.{cell.lower()}_layer"]
    values: dict[str, Any] = {arg.name: arg.default for arg in op.args}
    values |= {"x": x.numpy() @ w_ih.T + b_ih, "weight": w_hh, "bias": b_hh, "h0": state[0].numpy()}
    values |= {"reverse": bool(suffix), "lengths": None if lengths is None else np.array(lengths)}
    if cell == "LSTM":
        values["c0"] = state[1].numpy()
    return values
