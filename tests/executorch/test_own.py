"""Programs of Spirloom's own partitioner compute what eager does."""

from __future__ import annotations

import logging
import random
import re
from typing import Any

import pytest
import spirloom.executorch
import torch
import torch.nn.functional as F
from spirloom.errors import ImportFailure
from spirloom.executorch import SpirloomPartitioner
from torch.export import Dim

from tests.executorch.own import Own
from tests.executorch.programs import Module, check, load, run
from tests.executorch.test_networks import Lookup, Mlp, Net


def test_a_network_is_one_delegate() -> None:
    net = Net()
    program = Own(net, (torch.randn(1, 3, 16, 16),))
    assert (program.delegates, program.kernels) == (1, [])
    method = load(program.buffer)
    for _ in range(3):
        check(net, method, (torch.randn(1, 3, 16, 16),))


def test_two_delegates_and_a_kernel_between() -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    program = Own(net, (x,), operator_blocklist=["aten.mean.dim"])
    assert (program.delegates, program.kernels) == (2, ["aten::mean"])
    check(net, load(program.buffer), (x,))


@pytest.mark.parametrize("storage", ["buffer", "texture3d", "texture2d"])
def test_storages(storage: str) -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    check(net, load(Own(net, (x,), storage=storage).buffer), (x,))


def test_half_floats() -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    program = Own(net, (x,), force_fp16=True)
    assert len(program.buffer) < len(Own(net, (x,)).buffer)
    check(net, load(program.buffer), (x,), 1e-2)


def test_composites_stay_whole() -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.scaled_dot_product_attention(x, x, x, is_causal=True)

    module, x = Module(attend), torch.randn(1, 2, 5, 8)
    program = Own(module, (x,))
    assert b"aten.scaled_dot_product_attention" in program.payloads[0]
    check(module, load(program.buffer), (x,))


def test_what_stays_is_taken_apart() -> None:
    """ExecuTorch has no kernel of the whole operator."""
    module, x = Module(lambda x: F.hardswish(x) + 1.0), torch.randn(3, 5)
    program = Own(module, (x,), operator_blocklist=["aten.hardswish"])
    assert program.delegates == 1
    check(module, load(program.buffer), (x,))


def test_sizes_vary() -> None:
    net = Mlp()
    program = Own(net, (torch.randn(5, 6),), ({0: Dim("batch", min=1, max=9)},))
    assert program.delegates == 1
    method = load(program.buffer)
    for batch in (5, 9, 1, 2, 9, 5):
        check(net, method, (torch.randn(batch, 6),))
    with pytest.raises(RuntimeError):
        run(method, (torch.randn(10, 6),))


def reshaped(x: torch.Tensor) -> torch.Tensor:
    y = (x.reshape(x.shape[0] * x.shape[1], 4) + 1.0).abs()
    return torch.sin(y).reshape(x.shape[0], -1) * 2.0


RESHAPED = ({0: Dim("n", min=2, max=6), 1: Dim("m", min=2, max=7)},)


def test_sizes_that_inputs_do_not_tell() -> None:
    """What is behind the sine is told n * m alone: it stays."""
    module, x = Module(reshaped), torch.randn(3, 5, 4)
    program = Own(module, (x,), (RESHAPED,), operator_blocklist=["aten.sin"])
    assert program.delegates == 1
    method = load(program.buffer)
    for n, m in ((3, 5), (6, 7), (2, 2), (5, 3)):
        check(module, method, (torch.randn(n, m, 4),))


def test_fractions_of_sizes() -> None:
    """No delegate takes such a number: who reads it stays."""
    module = Module(lambda x: torch.relu(x) * (x.shape[0] / 2))
    shapes = ({0: Dim("n", min=2, max=6)},)
    method = load(Own(module, (torch.randn(3, 4),), (shapes,)).buffer)
    for n in (6, 2, 3):
        check(module, method, (torch.randn(n, 4),))


def test_the_greatest_sizes_alone() -> None:
    module, options = Module(reshaped), {"operator_blocklist": ["aten.sin"]}
    program = Own(module, (torch.randn(3, 5, 4),), (RESHAPED,), require_dynamic_shapes=False,
                  **options)  # fmt: skip
    assert program.delegates == 2
    method = load(program.buffer)
    check(module, method, (torch.randn(6, 7, 4),))
    with pytest.raises(RuntimeError, match="no sizes that vary"):
        run(method, (torch.randn(3, 5, 4),))


def test_64_bit_indices() -> None:
    net, indices = Lookup(), torch.tensor([[0, 9, 3], [1, 1, 7]])
    program = Own(net, (indices,))
    assert program.delegates == 1
    method = load(program.buffer)
    check(net, method, (indices,))
    with pytest.raises(RuntimeError, match=r"Element 0 \(4294967296\) of an int64 tensor exceeds"):
        run(method, (torch.full((2, 3), 1 << 32),))


def test_bounds_of_numbers() -> None:
    module = Module(lambda x: x * x)
    x = torch.tensor([3, -7])
    assert Own(module, (x,)).delegates == 0  # squares may not fit 32 bits
    method = load(Own(module, (x,), ranges={"inputs_0": (-9, 9)}).buffer)
    check(module, method, (x,))
    with pytest.raises(RuntimeError, match=r"Element 1 \(10\) of input .* between -9 and 9"):
        run(method, (torch.tensor([0, 10]),))


def stays(caplog: pytest.LogCaptureFixture, **options: Any) -> dict[str, str]:
    """Operator → why it stays, of a network of two layers."""
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="spirloom.executorch"):
        Own(Mlp(), (torch.randn(5, 6),), **options)
    lines = [record.getMessage() for record in caplog.records]
    found = (re.fullmatch(r"\S+ \((.*?)\).* stays: (.*)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


@pytest.mark.parametrize(
    "entry", ["aten.sigmoid", "aten.sigmoid.default", torch.ops.aten.sigmoid.default]
)
def test_operators_that_are_blocked(caplog: pytest.LogCaptureFixture, entry: Any) -> None:
    wanted = {"aten.sigmoid": "operator_blocklist has its operator"}
    assert stays(caplog, operator_blocklist=[entry]) == wanted


def test_operators_that_are_allowed(caplog: pytest.LogCaptureFixture) -> None:
    found = stays(caplog, operator_allowlist=["aten.linear", "aten.gelu"])
    assert found == {"aten.sigmoid": "operator_allowlist has not its operator"}


@pytest.mark.parametrize("entry", ["last", "torch.nn.modules.linear.Linear"])
def test_modules_that_are_blocked(caplog: pytest.LogCaptureFixture, entry: str) -> None:
    found = stays(caplog, nn_module_blocklist=[entry])
    assert set(found.values()) == {f"nn_module_blocklist has '{entry}'"}


def test_modules_that_are_allowed(caplog: pytest.LogCaptureFixture) -> None:
    found = stays(caplog, nn_module_allowlist=["first"])
    assert set(found.values()) == {"nn_module_allowlist has none of its modules"}
    assert "aten.sigmoid" in found


def test_wrong_options() -> None:
    with pytest.raises(ValueError, match="no compile option 'force_fp61': is it force_fp16"):
        SpirloomPartitioner({"force_fp61": True})
    with pytest.raises(ImportFailure, match="no such input"):
        Own(Module(torch.relu), (torch.randn(3),), ranges={"x": (0, 1)})
    with pytest.raises(ValueError, match=r"'storage' \('texture'\) is none of auto, buffer"):
        SpirloomPartitioner({"storage": "texture"})


def test_debug_handles_are_those_of_nodes() -> None:
    program = Own(Net(), (torch.randn(1, 3, 16, 16),))
    (found,) = program.manager.delegate_map["forward"].values()
    handles = found["delegate_map"]
    assert handles
    for name in handles:
        assert name.encode() in program.payloads[0]


def test_payloads_that_are_damaged() -> None:
    module = Module(lambda x, y: torch.relu(x + y) * 2.0)
    program = Own(module, (torch.randn(2, 3), torch.randn(2, 3)))
    (payload,) = program.payloads
    start = program.buffer.index(payload)
    chance = random.Random(1)
    refused = 0
    for _ in range(300):
        damaged = bytearray(program.buffer)
        for _ in range(chance.randint(1, 3)):
            damaged[start + chance.randrange(len(payload))] = chance.randrange(256)
        try:
            load(bytes(damaged))
        except RuntimeError:
            refused += 1
            assert spirloom.executorch.last_error()
    assert refused > 40


def test_a_compile_spec_that_is_unknown() -> None:
    program = Own(Module(torch.relu), (torch.randn(2, 3),)).buffer
    assert program.count(b"storage\0") == 1
    with pytest.raises(RuntimeError, match="The compile option 'storagf' is not known"):
        load(program.replace(b"storage\0", b"storagf\0"))


def test_numbers_of_the_code_are_known() -> None:
    """ExecuTorch gives partitioners tensors without data; what they hold says what goes."""

    def compute(x: torch.Tensor) -> torch.Tensor:
        return (x % 100) * 20_000_000

    module, x = Module(compute), torch.tensor([5, 123456])
    program = Own(module, (x,))
    assert program.delegates == 1
    check(module, load(program.buffer), (x,))
