"""Compares the NumPy references with PyTorch, for every case of every operator.

In all dtypes except f16, whose reference is that of f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torchvision  # noqa: F401  # its operators, in torch.ops.torchvision
from spirloom.casegen.arrays import make_arrays, reference_results, value_of
from spirloom.casegen.runs import Run, runs_of
from spirloom.casegen.values import rounded
from spirloom.ir import DType

from spec_model import Arg, Op
from spec_model.stored_float import decoded, float_format
from spec_model.vocabulary import Storage
from tests.reference.counterparts import COUNTERPARTS, NO_COUNTERPART
from tests.reference.counterparts.dtypes import DTYPES
from tests.reference.library import LIBRARY

# With several threads, which of equal indices is written last depends on the run.
torch.set_num_threads(1)
# Their results for infinities and NaN are others. Those of PyTorch depend on its version: in 1.13,
# softshrink(NaN) is 0; in 2.6, lerp() compares |weight| with 0.5. i0(inf) is NaN there, a quotient
# of infinities.
_OTHER_NON_FINITE_VALUES = {"aten.i0", "aten.lerp.Tensor", "aten.softshrink"}


def counterpart_of(op: Op) -> Callable[..., Any] | None:
    """PyTorch's operator as a function of the spec's args; None if there is none."""
    if op.name in COUNTERPARTS:
        return COUNTERPARTS[op.name]
    namespace, name, *overload = op.name.split(".")
    try:
        packet = getattr(getattr(torch.ops, namespace), name)
        counterpart: Callable[..., Any] = getattr(packet, overload[0] if overload else "default")
    except (AttributeError, RuntimeError):
        return None
    return counterpart


def cases() -> Iterator[Any]:
    for name, op in sorted(LIBRARY.ops.items()):
        seen = set()
        for run in () if name in NO_COUNTERPART else runs_of(op):
            key = (run.case, *run.dtypes.items(), *(y.dtype for y in run.outputs))
            if run.variant.storage is not Storage.BUFFER or DType.F16 in key or key in seen:
                continue
            seen.add(key)
            if not {*run.dtypes.values(), *(y.dtype for y in run.outputs)} <= DTYPES.keys():
                continue  # this PyTorch lacks the dtype; tests/torch compares it with a newer one
            yield pytest.param(run, id=f"{run.variant.id}-{run.case}")


def torch_value(run: Run, arg: Arg, arrays: Any) -> Any:
    """The argument for PyTorch: floats in double precision, indices in int64."""
    value = value_of(run, arg)
    if value is None or not arg.type.is_tensor:
        return list(value) if isinstance(value, tuple) else value
    index = arg.dtype is not None and arg.dtype == DType.I32
    numpy_dtypes = {DType.F32: np.float64, DType.I32: np.int64 if index else np.int32}
    tensors = [
        torch.from_numpy(x.data.view(np.uint8)).view(getattr(torch, x.dtype.long_name))
        if float_format(x.dtype)
        else torch.from_numpy(x.data.astype(numpy_dtypes.get(x.dtype, x.data.dtype)))
        for x in arrays
    ]
    return tensors if isinstance(value, tuple) else tensors[0]


@pytest.mark.parametrize("op", [pytest.param(op, id=name) for name, op in LIBRARY.ops.items()])
def test_every_operator_is_compared(op: Op) -> None:
    """Each operator has a counterpart in PyTorch or a documented reason for having none."""
    remedy = (
        "Add the operator's counterpart to tests/reference/counterparts, or the reason for having "
        "none to NO_COUNTERPART."
    )
    assert (counterpart_of(op) is None) == (op.name in NO_COUNTERPART), remedy


def test_every_counterpart_names_an_operator() -> None:
    assert {*COUNTERPARTS, *NO_COUNTERPART} <= {*LIBRARY.ops}


@pytest.mark.parametrize("run", cases())
def test_reference(run: Run) -> None:
    """The reference equals PyTorch's operator: floats in double precision, integers exactly."""
    inputs = make_arrays(run).inputs
    expected = reference_results(run, inputs)
    counterpart = counterpart_of(run.op)
    assert counterpart is not None
    results = counterpart(*(torch_value(run, arg, inputs.get(arg.name)) for arg in run.op.args))
    outputs = results if isinstance(results, tuple | list) else (results,)
    assert len(outputs) == len(expected)
    for actual, wanted, tensor in zip(outputs, expected, run.outputs, strict=True):
        assert tuple(actual.shape) == tensor.shape
        if tensor.dtype in (DType.F32, DType.F16):
            reference = wanted.reshape(tensor.shape)
            result = actual.double().numpy()
            if reference.dtype == np.float32:  # of a cast
                result = result.astype(np.float32)
            if run.op.name in _OTHER_NON_FINITE_VALUES:
                result = np.where(np.isfinite(reference), result, reference)
                result = np.where(np.isnan(result), reference, result)
            np.testing.assert_allclose(result, reference, rtol=1e-9, atol=1e-9)
        elif float_format(tensor.dtype):
            reference = decoded(rounded(wanted, tensor.dtype, tensor.shape), tensor.dtype)
            np.testing.assert_array_equal(actual.float().numpy(), reference)
        else:
            dtype = DType(tensor.dtype)
            reference = rounded(wanted, dtype, tensor.shape)
            np.testing.assert_array_equal(actual.numpy().astype(dtype.numpy), reference)
