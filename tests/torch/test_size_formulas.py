"""Formulas of dynamic sizes that change at small sizes: correct at every size, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from spirloom.errors import ImportFailure
from torch.nn import functional

FORMULAS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "pad": lambda x: functional.pad(x, (0, 0, 0, torch.sym_max(3 - x.shape[0], 0))) * 2,
    "min": lambda x: x[: torch.sym_min(x.shape[0], 2)] * 2,
    "max": lambda x: x[:1].expand(torch.sym_max(x.shape[0], 3), 4) + 1,
    "between": lambda x: functional.pad(x, (0, 0, 0, torch.sym_max(40 - x.shape[0], 0))) * 2,
}


class Calling(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize("name", FORMULAS)
def test_sizes_where_a_formula_changes(name: str) -> None:
    module = Calling(FORMULAS[name])
    rows = torch.export.Dim("rows", min=1, max=64)
    try:
        data = spirloom.torch.export(module, (torch.ones(8, 4),), dynamic_shapes=({0: rows},))
    except ImportFailure as error:
        assert "rows" in str(error) or "size" in str(error)
        return
    model = spirloom.load(data)
    for size in (1, 2, 3, 4, 39, 40, 41, 64):
        x = torch.arange(4.0 * size).view(size, 4)
        (found,) = model(x=x.numpy())
        np.testing.assert_array_equal(found, module(x).numpy(), err_msg=f"{size} rows")


def test_dimensions_that_torch_derives() -> None:
    """Dim.AUTO names a size, and 2 * n + 1 relates the sizes of two inputs."""

    class Joined(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return torch.cat([x, y]) * x.shape[0] ** -0.5

    rows = torch.export.Dim("rows", min=2, max=8)
    auto = torch.export.Dim.AUTO(min=2, max=8)
    for dims, sizes in (
        (({0: rows}, {0: 2 * rows + 1}), [(2, 5), (3, 7), (8, 17)]),
        (({0: auto}, {0: auto}), [(2, 2), (3, 7), (8, 4)]),
    ):
        given = tuple(torch.ones(size, 4) for size in sizes[1])
        model = spirloom.load(spirloom.torch.export(Joined(), given, dynamic_shapes=dims))
        for m, n in sizes:
            x, y = torch.rand(m, 4), torch.rand(n, 4)
            (found,) = model(x=x.numpy(), y=y.numpy())
            np.testing.assert_allclose(found, Joined()(x, y).numpy(), rtol=1e-6)
