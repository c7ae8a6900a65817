"""Programs lowered with SpirloomPartitioner match eager mode."""

from __future__ import annotations

import copy
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

from tests.executorch.partitioned import PartitionedProgram
from tests.executorch.programs import Module, check, load, run
from tests.executorch.test_networks import Lookup, Mlp, Net


def test_a_network_is_one_delegate() -> None:
    net = Net()
    program = PartitionedProgram(net, (torch.randn(1, 3, 16, 16),))
    assert (program.delegates, program.kernels) == (1, [])
    method = load(program.buffer)
    for _ in range(3):
        check(net, method, (torch.randn(1, 3, 16, 16),))


def test_two_delegates_with_a_kernel_between() -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    program = PartitionedProgram(net, (x,), operator_blocklist=["aten.mean.dim"])
    assert (program.delegates, program.kernels) == (2, ["aten::mean"])
    check(net, load(program.buffer), (x,))


@pytest.mark.parametrize("storage", ["buffer", "texture3d", "texture2d"])
def test_storages(storage: str) -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    check(net, load(PartitionedProgram(net, (x,), storage=storage).buffer), (x,))


def test_fp16() -> None:
    net, x = Net(), torch.randn(1, 3, 16, 16)
    program = PartitionedProgram(net, (x,), force_fp16=True)
    assert len(program.buffer) < len(PartitionedProgram(net, (x,)).buffer)
    check(net, load(program.buffer), (x,), 1e-2)


def test_nodes_that_stay_float32() -> None:
    """Differences of values that fp16 rounds to one."""
    module, x = Module(lambda x: (x + 4096.0) @ torch.eye(8) - 4096.0), torch.rand(3, 8)
    wanted = module(x)
    rounded, exact = (
        load(PartitionedProgram(module, (x,), force_fp16=True, keep_float32=names).buffer)
        for names in ((), ["aten_add*", "aten_mm*", "aten_sub*"])
    )
    assert (rounded.execute((x,))[0] - wanted).abs().max() > 0.1
    torch.testing.assert_close(exact.execute((x,))[0], wanted)


def test_composites_are_preserved() -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.scaled_dot_product_attention(x, x, x, is_causal=True)

    module, x = Module(attend), torch.randn(1, 2, 5, 8)
    program = PartitionedProgram(module, (x,))
    assert b"aten.scaled_dot_product_attention" in program.payloads[0]
    check(module, load(program.buffer), (x,))


def test_operators_on_the_host_are_decomposed() -> None:
    """ExecuTorch has no kernel of the composite operator."""
    module, x = Module(lambda x: F.hardswish(x) + 1.0), torch.randn(3, 5)
    program = PartitionedProgram(module, (x,), operator_blocklist=["aten.hardswish"])
    assert program.delegates == 1
    check(module, load(program.buffer), (x,))


def test_dynamic_shapes() -> None:
    net = Mlp()
    program = PartitionedProgram(net, (torch.randn(5, 6),), ({0: Dim("batch", min=1, max=9)},))
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


def test_sizes_that_inputs_do_not_determine() -> None:
    """Nodes after the sine would receive only n * m, so they run on the host."""
    module, x = Module(reshaped), torch.randn(3, 5, 4)
    program = PartitionedProgram(module, (x,), (RESHAPED,), operator_blocklist=["aten.sin"])
    assert program.delegates == 1
    method = load(program.buffer)
    for n, m in ((3, 5), (6, 7), (2, 2), (5, 3)):
        check(module, method, (torch.randn(n, m, 4),))


def test_fractions_of_sizes() -> None:
    """A float computed from a size is not a valid delegate input: its readers run on the host."""
    module = Module(lambda x: torch.relu(x) * (x.shape[0] / 2))
    shapes = ({0: Dim("n", min=2, max=6)},)
    method = load(PartitionedProgram(module, (torch.randn(3, 4),), (shapes,)).buffer)
    for n in (6, 2, 3):
        check(module, method, (torch.randn(n, 4),))


def test_static_shapes_at_the_maximum_sizes() -> None:
    module, options = Module(reshaped), {"operator_blocklist": ["aten.sin"]}
    program = PartitionedProgram(
        module, (torch.randn(3, 5, 4),), (RESHAPED,), require_dynamic_shapes=False, **options
    )
    assert program.delegates == 2
    method = load(program.buffer)
    check(module, method, (torch.randn(6, 7, 4),))
    with pytest.raises(RuntimeError, match="no dynamic shapes"):
        run(method, (torch.randn(3, 5, 4),))


def test_64_bit_indices() -> None:
    net, indices = Lookup(), torch.tensor([[0, 9, 3], [1, 1, 7]])
    program = PartitionedProgram(net, (indices,))
    assert program.delegates == 1
    method = load(program.buffer)
    check(net, method, (indices,))
    with pytest.raises(RuntimeError, match=r"Element 0 \(4294967296\) of an int64 tensor exceeds"):
        run(method, (torch.full((2, 3), 1 << 32),))


def test_value_ranges_of_inputs() -> None:
    module = Module(lambda x: x * x)
    x = torch.tensor([3, -7])
    assert PartitionedProgram(module, (x,)).delegates == 0  # squares may not fit 32 bits
    method = load(PartitionedProgram(module, (x,), ranges={"inputs_0": (-9, 9)}).buffer)
    check(module, method, (x,))
    with pytest.raises(RuntimeError, match=r"Element 1 \(10\) of input .* between -9 and 9"):
        run(method, (torch.tensor([0, 10]),))


def host_operators(caplog: pytest.LogCaptureFixture, **options: Any) -> dict[str, str]:
    """Operators of a two-layer network that run on the host → reason."""
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="spirloom.executorch"):
        PartitionedProgram(Mlp(), (torch.randn(5, 6),), **options)
    lines = [record.getMessage() for record in caplog.records]
    found = (re.fullmatch(r"\S+ \((.*?)\).* runs on the host: (.*)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


@pytest.mark.parametrize(
    "entry", ["aten.sigmoid", "aten.sigmoid.default", torch.ops.aten.sigmoid.default]
)
def test_operators_that_are_blocked(caplog: pytest.LogCaptureFixture, entry: Any) -> None:
    expected = {"aten.sigmoid": "operator_blocklist contains its operator"}
    assert host_operators(caplog, operator_blocklist=[entry]) == expected


def test_operators_that_are_allowed(caplog: pytest.LogCaptureFixture) -> None:
    found = host_operators(caplog, operator_allowlist=["aten.linear", "aten.gelu"])
    assert found == {"aten.sigmoid": "operator_allowlist does not contain its operator"}


@pytest.mark.parametrize("entry", ["last", "torch.nn.modules.linear.Linear"])
def test_modules_that_are_blocked(caplog: pytest.LogCaptureFixture, entry: str) -> None:
    found = host_operators(caplog, nn_module_blocklist=[entry])
    assert set(found.values()) == {f"nn_module_blocklist contains '{entry}'"}


def test_modules_that_are_allowed(caplog: pytest.LogCaptureFixture) -> None:
    found = host_operators(caplog, nn_module_allowlist=["first"])
    assert set(found.values()) == {"nn_module_allowlist contains none of its modules"}
    assert "aten.sigmoid" in found


def test_invalid_options() -> None:
    with pytest.raises(ValueError, match="compile option 'force_fp61'. Did you mean force_fp16"):
        SpirloomPartitioner({"force_fp61": True})
    with pytest.raises(ImportFailure, match="no such input"):
        PartitionedProgram(Module(torch.relu), (torch.randn(3),), ranges={"x": (0, 1)})
    with pytest.raises(ValueError, match=r"'storage' \('texture'\) is not one of: auto, bu"):
        SpirloomPartitioner({"storage": "texture"})
    with pytest.raises(ValueError, match="'keep_float32' must be a list of names, not the text 'a"):
        SpirloomPartitioner({"force_fp16": True, "keep_float32": "aten_*"})
    with pytest.raises(ValueError, match="'keep_float32' requires 'force_fp16'"):
        SpirloomPartitioner({"keep_float32": ["aten_*"]})


def test_debug_handles_are_those_of_nodes() -> None:
    program = PartitionedProgram(Net(), (torch.randn(1, 3, 16, 16),))
    (found,) = program.manager.delegate_map["forward"].values()
    handles = found["delegate_map"]
    assert handles
    for name in handles:
        assert name.encode() in program.payloads[0]


def test_damaged_payloads() -> None:
    module = Module(lambda x, y: torch.relu(x + y) * 2.0)
    program = PartitionedProgram(module, (torch.randn(2, 3), torch.randn(2, 3)))
    (payload,) = program.payloads
    start = program.buffer.index(payload)
    chance = random.Random(1)
    rejected = 0
    for _ in range(300):
        damaged = bytearray(program.buffer)
        for _ in range(chance.randint(1, 3)):
            damaged[start + chance.randrange(len(payload))] = chance.randrange(256)
        try:
            load(bytes(damaged))
        except RuntimeError:
            rejected += 1
            assert spirloom.executorch.last_error()
    assert rejected > 40


def test_an_unknown_compile_spec() -> None:
    program = PartitionedProgram(Module(torch.relu), (torch.randn(2, 3),)).buffer
    assert program.count(b"storage\0") == 1
    with pytest.raises(RuntimeError, match="The compile option 'storagf' is unknown"):
        load(program.replace(b"storage\0", b"storagf\0"))


def test_scalar_constants_are_known() -> None:
    """ExecuTorch passes fake tensors to partitioners; the values of constants decide support."""

    def compute(x: torch.Tensor) -> torch.Tensor:
        return (x % 100) * 20_000_000

    module, x = Module(compute), torch.tensor([5, 123456])
    program = PartitionedProgram(module, (x,))
    assert program.delegates == 1
    check(module, load(program.buffer), (x,))


def test_bfloat16() -> None:
    """Inputs and outputs are bfloat16; the delegate computes in float32."""
    torch.manual_seed(0)
    net, inputs = Mlp().bfloat16().eval(), (torch.randn(5, 6).bfloat16(),)
    shapes = ({0: Dim("batch", min=1, max=9)},)
    program = PartitionedProgram(net, inputs, shapes)
    assert (program.delegates, program.kernels) == (1, [])
    method = load(program.buffer)
    for batch in (5, 9, 1):
        x = torch.randn(batch, 6).bfloat16()
        (y,) = run(method, (x,))
        with torch.no_grad():
            exact = copy.deepcopy(net).float()(x.float())
        assert y.dtype == torch.bfloat16
        assert (y.float() - exact).abs().max() <= 2**-8
