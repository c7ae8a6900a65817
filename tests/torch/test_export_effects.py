"""Exported programs with effect tokens, which order checks of errors: as without the checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from spirloom.cli import main
from spirloom.errors import ImportFailure
from torch import nn

Function = Callable[[torch.Tensor], torch.Tensor]


class Calls(nn.Module):  # type: ignore[misc]
    """A function between other calls."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._function(x * 2).sum(0)


def checked(x: torch.Tensor) -> torch.Tensor:
    info = x.sum().to(torch.int32)
    torch.ops.aten._linalg_check_errors(info - info, "name", is_matrix=True)
    torch.ops.aten._linalg_check_errors(info * 0, "name", is_matrix=True)
    return x + 1


def saved(function: Function, x: torch.Tensor, directory: Path) -> list[str]:
    """The arguments of an import of a decomposed archive, whose tokens are explicit."""
    exported = torch.export.export(Calls(function).eval(), (x,)).run_decompositions()
    torch.export.save(exported, directory / "m.pt2")
    return ["import", str(directory / "m.pt2"), "-o", str(directory / "m.slg")]


def test_checks_are_omitted(tmp_path: Path) -> None:
    x = torch.randn(3, 3)
    expected = Calls(checked)(x)
    spirloom.torch.export(Calls(checked).eval(), (x,), output=tmp_path / "in_process.slg")
    assert main(saved(checked, x, tmp_path)) == 0
    for name in ("in_process", "m"):
        found = spirloom.load(tmp_path / f"{name}.slg")(x)[0]
        np.testing.assert_allclose(found, expected, 1e-6, 1e-6)


SOLVERS: dict[str, tuple[Function, str]] = {
    "inverse": (torch.inverse, "aten.linalg_inv_ex"),
    "tensorinv": (lambda x: torch.linalg.tensorinv(x, ind=1), "aten.linalg_inv_ex"),
    "solve": (lambda x: torch.linalg.solve(x, x), "aten._linalg_solve_ex"),
    "cholesky": (torch.linalg.cholesky, "aten.linalg_cholesky_ex"),
    "lu_factor": (lambda x: torch.linalg.lu_factor(x)[0], "aten.linalg_lu_factor_ex"),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_refused_operators_are_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    function, operator = SOLVERS[name]
    x = torch.eye(3)
    message = rf'{operator}, .*: there is no operator.*torch\.compile leaves.*export_effects\.py"'
    with pytest.raises(ImportFailure, match=message):
        spirloom.torch.export(Calls(function).eval(), (x,))
    assert main(saved(function, x, tmp_path)) == 1
    assert f"nodes cannot be imported:\n  {operator}, " in capsys.readouterr().err
