"""The NumPy references against PyTorch, over every case of every operator.

In every dtype but f16, whose reference is that of f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from spirloom.casegen.arrays import make_arrays, reference_results, value_of
from spirloom.casegen.runs import Run, runs_of
from spirloom.casegen.values import rounded
from spirloom.ir import DType

from codegen import Arg, Op
from codegen.vocabulary import Storage
from tests.reference.forms import FORMS, NO_COUNTERPART
from tests.reference.library import LIBRARY


def form_of(op: Op) -> Callable[..., Any] | None:
    """PyTorch's operator as a function of our args; None where it has none."""
    if op.name in FORMS:
        return FORMS[op.name]
    namespace, name, *overload = op.name.split(".")
    try:
        packet = getattr(getattr(torch.ops, namespace), name)
        form: Callable[..., Any] = getattr(packet, overload[0] if overload else "default")
    except (AttributeError, RuntimeError):
        return None
    return form


def cases() -> Iterator[Any]:
    for name, op in sorted(LIBRARY.ops.items()):
        seen = set()
        for run in () if name in NO_COUNTERPART else runs_of(op):
            key = (run.case, *run.dtypes.items(), *(y.dtype for y in run.outputs))
            if run.variant.storage is not Storage.BUFFER or DType.F16 in key or key in seen:
                continue
            seen.add(key)
            yield pytest.param(run, id=f"{run.variant.id}-{run.case}")


def torch_value(run: Run, arg: Arg, arrays: Any) -> Any:
    """The argument for PyTorch: floats in double, indices in its int64."""
    value = value_of(run, arg)
    if value is None or not arg.type.is_tensor:
        return list(value) if isinstance(value, tuple) else value
    index = arg.dtype is not None and arg.dtype == DType.I32
    kinds = {DType.F32: np.float64, DType.I32: np.int64 if index else np.int32}
    tensors = [torch.from_numpy(x.data.astype(kinds.get(x.dtype, x.data.dtype))) for x in arrays]
    return tensors if isinstance(value, tuple) else tensors[0]


@pytest.mark.parametrize("op", [pytest.param(op, id=name) for name, op in LIBRARY.ops.items()])
def test_every_operator_is_compared(op: Op) -> None:
    """Either PyTorch has the operator, or there is a reason why nothing of it is the same."""
    remedy = "Add the operator's form to tests/reference/forms, or to NO_COUNTERPART with a reason."
    assert (form_of(op) is None) == (op.name in NO_COUNTERPART), remedy


def test_every_form_is_an_operators() -> None:
    assert {*FORMS, *NO_COUNTERPART} <= {*LIBRARY.ops}


@pytest.mark.parametrize("run", cases())
def test_reference(run: Run) -> None:
    """The reference equals PyTorch's operator: floats in double precision, integers exactly."""
    inputs = make_arrays(run).inputs
    expected = reference_results(run, inputs)
    form = form_of(run.op)
    assert form is not None
    results = form(*(torch_value(run, arg, inputs.get(arg.name)) for arg in run.op.args))
    outputs = results if isinstance(results, tuple | list) else (results,)
    assert len(outputs) == len(expected)
    for actual, wanted, tensor in zip(outputs, expected, run.outputs, strict=True):
        assert tuple(actual.shape) == tensor.shape
        if tensor.dtype in (DType.F32, DType.F16):
            same = wanted.reshape(tensor.shape)
            given = actual.double().numpy()
            if same.dtype == np.float32:  # a cast, which gives the dtype itself
                given = given.astype(np.float32)
            np.testing.assert_allclose(given, same, rtol=1e-9, atol=1e-9)
        else:
            dtype = DType(tensor.dtype)
            same = rounded(wanted, dtype, tensor.shape)
            np.testing.assert_array_equal(actual.numpy().astype(dtype.numpy), same)
