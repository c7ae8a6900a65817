"""Programs without anything to decompose are not traced again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from spirloom.torch import decompose


class Calling(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self.layer(x))


UNCHANGED: dict[str, Callable[..., Any]] = {
    "layers": lambda x: torch.nn.functional.layer_norm(x, (4,)).softmax(-1),
    "parts": lambda x: sum(x.split(2, 1)),
}
DECOMPOSED: dict[str, Callable[..., Any]] = {
    "composite": lambda x: torch.einsum("ij,kj->ik", x, x),
    "in place": lambda x: x.add_(1),
    "mode": lambda x: _without_gradients(x),
}


def _without_gradients(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return x * 2


def exported(function: Callable[..., Any]) -> Any:
    return torch.export.export(Calling(function).eval(), (torch.ones(3, 4),), strict=False)


@pytest.mark.parametrize("name", UNCHANGED)
def test_plain_programs_stay(name: str) -> None:
    program = exported(UNCHANGED[name])
    assert decompose(program) is program


@pytest.mark.parametrize("name", DECOMPOSED)
def test_other_programs_are_decomposed(name: str) -> None:
    """Afterwards they have calls of functional operators only."""
    program = exported(DECOMPOSED[name])
    found = decompose(program)
    assert found is not program
    assert decompose(found) is found
