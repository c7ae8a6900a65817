"""Tensors on the device: creation, copies, views, printing, storages, errors."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

D = "vulkan"


def equal(actual: Any, expected: Any) -> None:
    assert actual.device.type == D
    torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=0, equal_nan=True)


def test_the_device_has_the_name_vulkan() -> None:
    assert torch.device("vulkan").type == "vulkan"
    assert torch.empty(2, device=D).device == torch.device("vulkan", 0)
    assert torch.vulkan.is_available()
    assert torch.is_vulkan_available()
    assert torch.get_device_module(D) is torch.vulkan


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32,
        torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64,
    ],
    ids=str,
)  # fmt: skip
def test_copies_keep_every_dtype(dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    y = x.to(D)
    assert y.dtype == dtype
    equal(y, x)
    equal(y.clone(), x)
    if not dtype.is_complex:
        equal(y.float(), x.float())


def test_integers_of_64_bits_keep_their_values() -> None:
    x = torch.tensor([2**62 + 1, -(2**62) - 1])
    equal(x.to(D) + 1, x + 1)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "dense": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "narrow": lambda x: x[1:3, :, 1:4],
    "steps": lambda x: x[::2, ::3],
    "expanded": lambda x: x[:, :1].expand(4, 5, 6),
    "offset": lambda x: x.view(-1)[7:],
    "channels_last": lambda x: x.view(1, 4, 5, 6).to(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("where", ["to", "from", "within"])
def test_copies_between_layouts(source: str, where: str) -> None:
    base = torch.randn(4, 5, 6)
    x = LAYOUTS[source](base)
    if where == "to":
        equal(x.to(D), x)
    else:
        y = LAYOUTS[source](base.to(D))
        assert y.stride() == x.stride()
        torch.testing.assert_close(y.cpu(), x)
        if where == "within":
            target = torch.zeros(x.shape, device=D)
            equal(target.copy_(y), x)


@pytest.mark.parametrize("target", [name for name in LAYOUTS if name != "expanded"])
@pytest.mark.parametrize("from_device", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_copies_into_views_keep_the_other_elements(
    target: str, from_device: bool, dtype: torch.dtype
) -> None:
    """Guard elements around every view."""
    base, guarded = torch.randn(4, 5, 6), torch.randn(4, 5, 6)
    expected = guarded.clone()
    on_device = guarded.to(D)
    values = (LAYOUTS[target](base) * 10).to(dtype)
    LAYOUTS[target](expected).copy_(values)
    LAYOUTS[target](on_device).copy_(values.to(D) if from_device else values)
    if target == "channels_last":  # a copy, not a view
        expected = guarded
    equal(on_device, expected)


def test_copies_broadcast() -> None:
    x = torch.zeros(3, 4, device=D)
    x.copy_(torch.arange(4.0))
    x[:, 1:2].copy_(torch.tensor([[7.0]]).to(D))
    expected = torch.arange(4.0).expand(3, 4).clone()
    expected[:, 1] = 7
    equal(x, expected)


def test_copies_between_overlapping_views() -> None:
    x, y = torch.arange(10.0), torch.arange(10.0).to(D)
    x[1:].copy_(x[:-1].clone())
    y[1:].copy_(y[:-1])
    equal(y, x)


def test_copies_of_conjugated_and_negated_tensors() -> None:
    x = torch.randn(3, 4, dtype=torch.complex64)
    y = x.to(D)
    equal(y.conj(), x.conj())
    equal(y.conj().resolve_conj(), x.conj().resolve_conj())
    equal(y.conj().imag, x.conj().imag)
    target, expected = torch.zeros_like(y), torch.zeros_like(x)
    target.conj().copy_(y)
    expected.conj().copy_(x)
    equal(target, expected)
    equal(torch.view_as_real(y), torch.view_as_real(x))
    equal(torch.view_as_complex(torch.view_as_real(y)), x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.uint8, torch.int64], ids=str)
@pytest.mark.parametrize("value", [0, 3])
def test_fills_keep_the_elements_around_a_view(dtype: torch.dtype, value: int) -> None:
    for begin in range(4):
        for size in (1, 2, 3, 5, 8):
            x = torch.arange(16).to(dtype)
            y = x.to(D)
            x[begin : begin + size].fill_(value)
            y[begin : begin + size].fill_(value)
            equal(y, x)
    full = torch.full((), value, dtype=dtype)
    equal(torch.full((), value, dtype=dtype, device=D), full)
    y.view(4, 4)[:, 1].zero_()
    x.view(4, 4)[:, 1].zero_()
    y.view(4, 4)[2].fill_(torch.tensor(5))
    x.view(4, 4)[2].fill_(torch.tensor(5))
    equal(y, x)


def test_views_share_memory_and_versions() -> None:
    def change(x: Any) -> Any:
        view = x.view(2, 2, 6)[1, :, 1:3]
        view += 2
        x.t()[0].fill_(7)
        x[:, 5].copy_(torch.ones(4))
        x.unfold(0, 2, 1)[1, 0, 0] = 9
        return view

    x, y = torch.zeros(4, 6), torch.zeros(4, 6, device=D)
    change(x)
    view = change(y)
    equal(y, x)
    assert view._is_view()
    assert view._base is y
    assert y._version == x._version


def test_every_kind_of_view() -> None:
    x, y = torch.arange(24.0).view(4, 6), torch.arange(24.0).view(4, 6).to(D)
    functions: list[Callable[[Any], Any]] = [
        lambda t: t.chunk(2)[1],
        lambda t: t.split(3, 1)[1],
        lambda t: t.unbind()[2],
        lambda t: t.diagonal(),
        lambda t: t.expand(2, 4, 6),
        lambda t: t.unsqueeze(1).squeeze(),
        lambda t: t.permute(1, 0),
        lambda t: t.view(torch.int32),
        lambda t: t.narrow(0, 1, 2),
        lambda t: t.unfold(1, 3, 2),
        lambda t: t.as_strided((2, 2), (1, 7), 3),
        lambda t: t.reshape(3, 8),
        lambda t: t.movedim(0, 1)[2:].flatten(),
        lambda t: t.detach(),
        lambda t: torch.ops.aten.alias(t),
    ]
    for function in functions:
        expected = function(x)
        actual = function(y)
        assert actual.stride() == expected.stride()
        assert actual.storage_offset() == expected.storage_offset()
        equal(actual, expected)


def test_views_are_checked() -> None:
    x = torch.zeros(4, 6, device=D)
    with pytest.raises(RuntimeError, match="not compatible with input tensor's size and stride"):
        x.t().view(24)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size"):
        x.as_strided((100,), (1,))
    with pytest.raises(RuntimeError, match="maximum size for tensor at dimension 1 is 6"):
        x.unfold(1, 7, 1)


def test_resize_out_and_set() -> None:
    out = torch.empty(0, device=D)
    torch.add(torch.ones(3, device=D), 1, out=out)
    equal(out, torch.full((3,), 2.0))
    out.resize_(5)
    equal(out[:3], torch.full((3,), 2.0))
    out.set_(torch.arange(4.0).to(D))
    equal(out, torch.arange(4.0))
    out.set_(out.untyped_storage(), 1, (2, 1), (1, 1))
    equal(out, torch.tensor([[1.0], [2.0]]))
    out.data = torch.zeros(2, device=D)
    equal(out, torch.zeros(2))
    out.set_()
    assert out.numel() == 0


def test_storages() -> None:
    storage = torch.UntypedStorage(16, device=D)
    assert storage.device.type == D
    storage.copy_(torch.arange(4, dtype=torch.int32).untyped_storage())
    x = torch.empty(0, dtype=torch.int32, device=D).set_(storage)
    equal(x, torch.arange(4, dtype=torch.int32))
    storage.resize_(64)
    equal(torch.empty(0, dtype=torch.int32, device=D).set_(storage)[:4], x.cpu())
    assert bytes(storage.cpu()[:4]) == b"\0\0\0\0"


def test_results_in_the_middle_of_a_storage() -> None:
    """`out=` and in-place calls on parts of a tensor change nothing else."""
    base = torch.arange(20.0).to(D)
    base[:5] += 1
    base[3:8].mul_(2)
    torch.add(base[8:11], 1, out=base[12:15])
    expected = torch.arange(20.0)
    expected[:5] += 1
    expected[3:8].mul_(2)
    torch.add(expected[8:11], 1, out=expected[12:15])
    equal(base, expected)


def test_items_and_conversions() -> None:
    x = torch.tensor(3.5).to(D)
    assert x.item() == 3.5
    assert int(x) == 3
    assert bool(x)
    assert torch.tensor([[1, 2], [3, 4]]).to(D).t().tolist() == [[1, 3], [2, 4]]
    with pytest.raises(TypeError, match=r"can't convert vulkan:0 device type tensor to numpy"):
        np.asarray(x)


def test_printing() -> None:
    assert repr(torch.arange(3.0).to(D)) == "tensor([0., 1., 2.], device='vulkan:0')"


def test_indexing() -> None:
    x = torch.arange(12.0).view(3, 4)
    y, index = x.to(D), torch.tensor([0, 2])
    equal(y[index.to(D)], x[index])
    equal(y[index], x[index])
    equal(y[y > 5], x[x > 5])
    x[index] = 0
    y[index.to(D)] = 0
    x[x < 5] = 1
    y[y < 5] = 1
    equal(y, x)


def test_methods_of_the_older_backend() -> None:
    x = torch.ones(2).vulkan()
    assert x.is_vulkan
    assert not torch.ones(2).is_vulkan
    assert torch.nn.Linear(2, 2).vulkan().weight.is_vulkan
    y = torch.ops.spirloom_vulkan.to_vulkan_type(torch.arange(3.0))
    equal(y, torch.arange(3.0))


def test_copies_by_python_and_pickle() -> None:
    x = torch.randn(3).to(D)
    equal(copy.deepcopy(x), x.cpu())
    equal(pickle.loads(pickle.dumps(x)), x.cpu())


def test_save_and_load() -> None:
    module = torch.nn.Linear(2, 2).to(D)
    file = io.BytesIO()
    torch.save({"module": module.state_dict(), "x": torch.ones(3, device=D)}, file)
    file.seek(0)
    equal(torch.load(file)["x"], torch.ones(3))
    file.seek(0)
    assert torch.load(file, map_location="cpu")["x"].device.type == "cpu"
    file = io.BytesIO()
    torch.save(torch.ones(3), file)
    for location in (D, torch.device("vulkan:0"), {"cpu": D}):
        file.seek(0)
        equal(torch.load(file, map_location=location), torch.ones(3))


def test_dlpack() -> None:
    x = torch.arange(6.0).to(D)[1:]
    y = torch.from_dlpack(x)
    equal(y, x.cpu())
    y[0] = 9
    assert x[0].item() == 9


def test_pinned_memory() -> None:
    x = torch.ones(4).pin_memory()
    assert x.is_pinned()
    assert x[2:].is_pinned()
    assert not torch.ones(4).is_pinned()
    equal(x.to(D, non_blocking=True), torch.ones(4))


def test_default_device() -> None:
    with torch.device(D):
        assert torch.ones(2).is_vulkan
        assert torch.nn.Linear(2, 2).weight.is_vulkan


def test_unsupported_requests_are_named() -> None:
    with pytest.raises(RuntimeError, match="The device index is 1, and there is one device"):
        torch.empty(2, device="vulkan:1")
    with pytest.raises(RuntimeError, match="Only tensors on the CPU can be in pinned memory"):
        torch.empty(2, device=D, pin_memory=True)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(2, device=D) + torch.ones(2)
