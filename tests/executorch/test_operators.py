"""Programs of single operators, one per operator of ExecuTorch's delegates, match eager mode."""

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
    is_qualified = foreign.startswith(("et_vk.", "dim_order_ops."))
    expected = foreign if is_qualified else f"aten.{foreign}"
    assert expected in program.names
    check(module, load(program.buffer), inputs)
