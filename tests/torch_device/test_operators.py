"""Every operator of PyTorch's own test suite on the device, compared with the CPU: forward and
backward in float32, with strided tensors, in place, and forward in float16.
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


# The device draws dropout's masks itself.
DROPOUT = {
    "nn.functional.dropout", "nn.functional.multi_head_attention_forward",
    "nn.functional.scaled_dot_product_attention",
}  # fmt: skip
# Operators whose results on the CPU differ in float16: sorts there are not stable, equal values of
# topk() have any order, and sums are not in float32.
OTHER_IN_HALF = {"sort", "argsort", "topk", "nn.functional.conv_transpose3d"}

# Operators that round in float16 in other places than the CPU does.
HALF_TOLERANCE = {"rtol": 2e-2, "atol": 2e-2}

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


def moved_with_strides(sample: Any) -> Any:
    """The sample on the device, with the strides of its tensors."""

    def move(tensor: Any) -> Any:
        if tensor.layout != torch.strided:
            return tensor.to(D)
        like = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=D)
        return tensor.to(D) if 0 in tensor.stride() else like.copy_(tensor)

    return sample.transform(lambda value: move(value) if isinstance(value, torch.Tensor) else value)


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


def is_random(op: Any, sample: Any) -> bool:
    """Whether the sample drops elements."""
    if _name(op) not in DROPOUT:
        return False
    sizes = [each for each in (*sample.args, *sample.kwargs.values()) if isinstance(each, float)]
    return _name(op) == "nn.functional.dropout" or any(0 < each < 1 for each in sizes)


@pytest.mark.parametrize("op", OPERATORS, ids=_name)
def test_an_operator_equals_the_cpu(op: Any) -> None:
    if reason := UNSUPPORTED.get(_name(op)):
        pytest.xfail(reason)
    backward = bool(op.supports_autograd)
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=backward)
    for sample in islice(samples, SAMPLES):
        if is_random(op, sample):
            continue
        expected = results(op, sample, "cpu", backward)
        actual = results(op, sample, D, backward)
        assert len(actual) == len(expected)
        for own, other in zip(actual, expected, strict=True):
            assert own.device.type == D or not other.numel()
            assert (own.dtype, own.shape) == (other.dtype, other.shape)
            if _name(op) not in UNINITIALIZED:
                torch.testing.assert_close(own.cpu(), other, rtol=1e-3, atol=1e-4, equal_nan=True)


def compare(actual: list[Any], expected: list[Any], **tolerance: float) -> None:
    assert len(actual) == len(expected)
    for own, other in zip(actual, expected, strict=True):
        assert own.device.type == D or not other.numel()
        assert (own.dtype, own.shape) == (other.dtype, other.shape)
        torch.testing.assert_close(own.cpu(), other, equal_nan=True, **tolerance)


def skip_unless_comparable(op: Any) -> None:
    if reason := UNSUPPORTED.get(_name(op)):
        pytest.xfail(reason)
    if _name(op) in UNINITIALIZED:
        pytest.skip("Its results are uninitialized memory.")


# Their results depend on the memory between the elements, or on the order of drawn numbers.
OF_MEMORY = {"as_strided", "as_strided_copy", "as_strided_scatter", "normal.in_place"}


@pytest.mark.parametrize("op", [o for o in OPERATORS if _name(o) not in OF_MEMORY], ids=_name)
def test_an_operator_takes_strided_tensors(op: Any) -> None:
    skip_unless_comparable(op)
    for sample in islice(op.sample_inputs("cpu", torch.float32), 2):
        if is_random(op, sample):
            continue
        strided = sample.noncontiguous()
        try:
            expected = results(op, strided, "cpu", backward=False)
        except RuntimeError:
            continue  # such a tensor is invalid
        actual = results(op, moved_with_strides(strided), D, backward=False)
        compare(actual, expected, rtol=1e-3, atol=1e-4)


IN_PLACE = [op for op in OPERATORS if op.inplace_variant is not None]


@pytest.mark.parametrize("op", IN_PLACE, ids=_name)
def test_an_operator_computes_in_place(op: Any) -> None:
    """In a view, around which nothing changes."""
    skip_unless_comparable(op)
    for sample in islice(op.sample_inputs("cpu", torch.float32), 2):
        if is_random(op, sample):
            continue
        if sample.broadcasts_input or not isinstance(sample.input, torch.Tensor):
            continue
        outcomes: list[str | list[Any]] = []
        for device in ("cpu", D):
            given, args, keywords = moved((sample.input, sample.args, sample.kwargs), device)
            storage = torch.full((given.numel() + 10,), 7, dtype=given.dtype, device=device)
            view = storage[3 : 3 + given.numel()].view(given.shape).copy_(given)
            torch.manual_seed(0)
            try:
                op.inplace_variant(view, *args, **keywords)
            except RuntimeError as error:
                outcomes.append(str(error).splitlines()[0])
                continue
            outcomes.append([storage])
        expected, actual = outcomes
        if isinstance(expected, list) and isinstance(actual, list):
            compare(actual, expected, rtol=1e-3, atol=1e-4)
        else:
            assert isinstance(expected, str) == isinstance(actual, str), outcomes


HALF = [op for op in OPERATORS if torch.float16 in op.dtypes]


@pytest.mark.parametrize("op", [op for op in HALF if _name(op) not in OTHER_IN_HALF], ids=_name)
def test_an_operator_computes_in_float16(op: Any) -> None:
    skip_unless_comparable(op)
    for sample in islice(op.sample_inputs("cpu", torch.float16), 2):
        if is_random(op, sample):
            continue
        expected = results(op, sample, "cpu", backward=False)
        actual = results(op, sample, D, backward=False)
        compare(actual, expected, **HALF_TOLERANCE)
