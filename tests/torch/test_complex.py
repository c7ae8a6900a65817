"""Complex values within a program, as in the rotary embeddings of Llama's reference code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from spirloom.cli import main
from spirloom.errors import ImportFailure

from tests.torch.test_composed_operators import Calling, compare, randn


class Rotary(torch.nn.Module):  # type: ignore[misc]
    """Rotates pairs of columns by a table of complex values, a buffer or computed ones."""

    def __init__(self, stored: bool) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(16.0), 0.1 ** torch.arange(4.0))
        self.register_buffer("table", torch.polar(torch.ones_like(angles), angles))
        self.register_buffer("inverse", 0.1 ** torch.arange(4.0))
        self.stored = stored

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        values = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        if self.stored:
            table = self.table[: x.shape[1]].view(1, x.shape[1], 1, -1)
        else:
            angles = position[:, None] * self.inverse
            table = (torch.polar(torch.ones_like(angles), angles) * 1.5)[None, :, None, :]
        return torch.view_as_real(values * table).flatten(3)


@pytest.mark.parametrize("stored", [False, True])
def test_rotary_embeddings(stored: bool, tmp_path: Path) -> None:
    module, inputs = Rotary(stored), (randn(2, 5, 3, 8), torch.arange(5.0))
    compare(module, *inputs)
    archive, output = tmp_path / "net.pt2", tmp_path / "net.slg"
    torch.export.save(torch.export.export(module, inputs), archive)
    assert main(["import", str(archive), "-o", str(output)]) == 0
    model = spirloom.load(output)
    (result,) = model(**{t.name: inputs[t.name == "position"].numpy() for t in model.inputs})
    np.testing.assert_allclose(result, module(*inputs), rtol=1e-5, atol=1e-5)


def test_operators() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> Any:
        x, y = torch.complex(a, b), torch.view_as_complex(torch.stack([b, a], -1))
        z = (x + y * 2 - x * a).conj() * y.transpose(0, 1).expand(4, 4)[:, 1:2].squeeze(1)
        return z.real, z.imag, z.abs(), torch.view_as_real(z.permute(1, 0).unsqueeze(0))

    compare(function, randn(4, 4), randn(4, 4) + 1)


def test_complex_outputs_are_refused() -> None:
    module = Calling(lambda a, b: torch.complex(a, b))
    with pytest.raises(ImportFailure, match=r"is complex64; return torch.view_as_real\(\)"):
        spirloom.torch.export(module, (randn(3), randn(3)))


def test_operators_without_a_rule() -> None:
    module = Calling(lambda a, b: torch.complex(a, b).tan().real)
    with pytest.raises(ImportFailure, match="no operator for its element type complex64"):
        spirloom.torch.export(module, (randn(3), randn(3)))
