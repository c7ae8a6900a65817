"""Imports and runs a call of every overload that a spec supports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.op_library import OpLibrary
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options

from tests.reference.library import LIBRARY
from tests.torch.operators import Call

IMPORTER = OpLibrary()
X = torch.tensor([[1.5, -2.25, 3.0], [0.5, 7.0, -1.0]])
Y = torch.tensor([[2.0, 0.75, -1.0], [0.5, 3.0, 4.0]])
INTEGERS = torch.tensor([[5, 3, 12], [1, 0, 30]], dtype=torch.int32)
B = X > 1
# Arguments of overloads that need others than float tensors and a number.
ARGUMENTS: dict[str, list[Any]] = {
    "aten.all": [B],
    "aten.all.dim": [B, 1],
    "aten.any": [B],
    "aten.any.dim": [B, 1, True],
    "aten.arange": [5],
    "aten.arange.start": [2, 9],
    "aten.count_nonzero": [torch.tensor([[0.0, 1.0], [2.0, 0.0]])],
    "aten.div.Scalar_mode": [X, 2],
    "aten.eye": [3],
    "aten.pow.Scalar": [2, X],
    "aten.remainder.Scalar_Tensor": [7, Y],
    "aten.sort.stable": [X],
    "aten.squeeze.dim": [X[:, None], 1],
    "aten.where.Scalar": [B, 1.5, -2.0],
    "aten.where.ScalarOther": [B, X, -2.0],
    "aten.where.ScalarSelf": [B, 1.5, X],
    "aten.xlogy.Scalar_Self": [2, Y.abs()],
}
NAMED: dict[str, dict[str, Any]] = {
    "aten.div.Scalar_mode": {"rounding_mode": "floor"},
    "aten.sort.stable": {"stable": True, "dim": 1, "descending": True},
}
OVERLOADS = {name: op.name for op in LIBRARY.ops.values() for name in op.overloads}


def arguments(name: str) -> list[Any]:
    """Arguments for a call of an overload."""
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    if "bitwise" in name:
        return [2, INTEGERS % 5] if name.endswith("Scalar_Tensor") else [INTEGERS, 2]
    tensors = {"Tensor": iter((X, Y.abs() if "xlogy" in name else Y))}
    given = []
    for argument in function(name)._schema.arguments:
        if argument.has_default_value() or argument.kwarg_only:
            break
        tensor = str(argument.type) == "Tensor"
        given.append(next(tensors["Tensor"]) if tensor else 2.0)
    return given


def function(name: str) -> Any:
    """PyTorch's function of this overload."""
    _, packet, *overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), *overload or ["default"])


class Named(torch.nn.Module):  # type: ignore[misc]
    """A call with keyword arguments. Results without inputs are added to an input."""

    def __init__(self, name: str) -> None:
        super().__init__()
        keywords = NAMED.get(name, {})
        self.call = Call(lambda *args: function(name)(*args, **keywords), arguments(name))

    def forward(self, first: torch.Tensor, *tensors: torch.Tensor) -> Any:
        result = self.call(*(tensors if not self.call.input_indices else (first, *tensors)))
        return result if self.call.input_indices else result + first.sum()


@pytest.mark.parametrize("name", sorted(OVERLOADS))
def test_overload(name: str) -> None:
    module = Named(name)
    inputs = tuple(arg for arg in arguments(name) if isinstance(arg, torch.Tensor)) or (X,)
    exported = torch.export.export(module, inputs, strict=False)
    program = program_of(exported)
    assert name in {call.target for call in program.calls}, "torch exports something else"
    wanted = module(*inputs)
    model = spirloom.load(graph_file.to_bytes(build(program, IMPORTER, Options())))
    results = model(*(t.numpy() for t in inputs))
    for given, right in zip(
        results, wanted if isinstance(wanted, tuple) else (wanted,), strict=False
    ):
        np.testing.assert_allclose(given, right.numpy(), rtol=1e-5, atol=1e-5)
    # The decomposed program can be imported, too.
    build(program_of(decompose(exported, IMPORTER)), IMPORTER, Options())
