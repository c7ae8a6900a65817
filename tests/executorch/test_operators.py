"""A program of one operator for each name of ExecuTorch's delegates computes what eager does."""

from __future__ import annotations

import pytest
import torch

from tests.executorch.operators import cases
from tests.executorch.programs import Lowered, Module, check, load

CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    function, inputs = CASES[name]
    module = function if isinstance(function, torch.nn.Module) else Module(function)
    program = Lowered(module, inputs)
    assert program.delegates == 1
    foreign = name.split()[0]
    is_whole = foreign.startswith(("et_vk.", "dim_order_ops."))
    wanted = foreign if is_whole else f"aten.{foreign}"
    assert wanted in program.names
    check(module, load(program.buffer), inputs)
