"""Every operator of PyTorch's own test suite on the device, forward and backward in float32,
compared with the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

D = "vulkan"
SAMPLES = 3  # of each operator

# Operators that every device of a package fails, and samples that cannot be moved, with the reason.
_SPARSE = "PyTorch has no sparse tensors for devices of packages"
UNSUPPORTED = {
    "sparse.sampled_addmm": _SPARSE,
    "sparse.mm.reduce": _SPARSE,
    "to_sparse": _SPARSE,
    "as_strided.partial_views": "the sample reads its storage outside of the tensor",
    "tensor_split": "PyTorch requires the indices of a split on the CPU",
}
# Results are uninitialized memory: only their types and shapes are compared.
UNINITIALIZED = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
}  # fmt: skip


def _name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


OPERATORS = [op for op in op_db if torch.float32 in op.dtypes and "jiterator" not in op.name]


def tensors(value: Any) -> Iterator[Any]:
    """The tensors of nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors(each)
    elif isinstance(value, dict):
        yield from tensors(list(value.values()))


def moved(value: Any, device: str) -> Any:
    """The value with its tensors and devices on `device`."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(moved(each, device) for each in value)
    if isinstance(value, dict):
        return {key: moved(each, device) for key, each in value.items()}
    if isinstance(value, torch.device) or value == "cpu":
        return torch.device(device)
    return value


def results(op: Any, sample: Any, device: str, backward: bool) -> list[Any]:
    """The results, and the gradients of the inputs for the sum of the results' squares."""
    inputs = moved((sample.input, sample.args, sample.kwargs), device)
    torch.manual_seed(0)
    out = op.op(inputs[0], *inputs[1], **inputs[2])
    found = [each for each in tensors(out) if each.layout == torch.strided]
    if backward:
        squares = [(each * each.conj()).real.sum() for each in found if each.requires_grad]
        if squares:
            sum(squares).backward()  # type: ignore[union-attr]
    gradients = [each.grad for each in tensors(inputs) if each.grad is not None]
    return [each.detach() for each in found] + gradients


@pytest.mark.parametrize("op", OPERATORS, ids=_name)
def test_an_operator_equals_the_cpu(op: Any) -> None:
    if reason := UNSUPPORTED.get(_name(op)):
        pytest.xfail(reason)
    backward = bool(op.supports_autograd)
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=backward)
    for sample in islice(samples, SAMPLES):
        expected = results(op, sample, "cpu", backward)
        actual = results(op, sample, D, backward)
        assert len(actual) == len(expected)
        for own, other in zip(actual, expected, strict=True):
            assert own.device.type == D or not other.numel()
            assert (own.dtype, own.shape) == (other.dtype, other.shape)
            if _name(op) not in UNINITIALIZED:
                torch.testing.assert_close(own.cpu(), other, rtol=1e-3, atol=1e-4, equal_nan=True)
