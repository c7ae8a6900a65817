"""Graphs with effect tokens, which order checks of errors, and results without dimensions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tests.torch.compiled import by_dynamo, check, on_device

pytestmark = pytest.mark.usefixtures("inference")

SOLVERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "inv": torch.linalg.inv,
    "solve": lambda a: torch.linalg.solve(a, a.sum(1, keepdim=True)),
    "cholesky": lambda a: torch.linalg.cholesky(a @ a.T),
    "lu_factor": lambda a: torch.linalg.lu_factor(a)[0],
    "cholesky_solve": lambda a: torch.cholesky_solve(a, torch.linalg.cholesky(a @ a.T)),
}


class Solves(nn.Module):  # type: ignore[misc]
    """A linear layer before and after a solver, for which there is no operator."""

    def __init__(self, solver: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(32, 32), nn.Linear(32, 32)
        self._solver = solver

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = self._solver(self.first(x) * 0.1 + torch.eye(32))
        return self.last(result.expand(-1, 32) if result.shape[1] == 1 else result)


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers(name: str) -> None:
    module, x = Solves(SOLVERS[name]).eval(), torch.randn(32, 32)
    run = by_dynamo(module)
    for scale in (1.0, 0.5):
        check(run(x * scale), module(x * scale), 1e-3)
    assert on_device(run, "aten.linear") > 0


def test_errors_are_raised() -> None:
    run = by_dynamo(lambda a: torch.linalg.inv(a) * 2)
    with pytest.raises(RuntimeError, match="singular"):
        run(torch.zeros(3, 3))


SCALARS: dict[str, Callable[[torch.Tensor], object]] = {
    "softmax": lambda s: torch.softmax(s, 0),
    "log_softmax": lambda s: (torch.log_softmax(s, 0), s + 1),
    "argmax": lambda s: s.argmax(),
    "constant": lambda s: (torch.full((), 2.0) * 3, s * 2),
    "moments": lambda s: (s.mean(), s.prod(), s.std(correction=0)),
}


@pytest.mark.parametrize("name", SCALARS)
def test_results_without_dimensions(name: str) -> None:
    value = torch.tensor(5.0)
    check(by_dynamo(SCALARS[name])(value), SCALARS[name](value))


def test_batch_norm_in_training() -> None:
    module, x = nn.BatchNorm2d(3).train(), torch.randn(2, 3, 4, 4)
    other = nn.BatchNorm2d(3).train()
    check(by_dynamo(module)(x), other(x))
    check(module.num_batches_tracked, other.num_batches_tracked)
