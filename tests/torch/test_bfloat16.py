"""bfloat16 compared with PyTorch: conversions of every code, rounding, weights, inputs, outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.builder import Builder
from spirloom.comparison import compare
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.runtime import WrongType
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options
from torch import nn

from spec_model.stored_float import decoded, encoded
from tests.torch.compiled import BOTH, Compile, check

ml_dtypes = pytest.importorskip("ml_dtypes")
LIBRARY = OpLibrary()
CODES = torch.arange(1 << 16).to(torch.int32).to(torch.uint16).view(torch.bfloat16)
WIDE = [torch.float32, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2]
INTEGERS = [torch.int32, torch.int8, torch.uint8, torch.bool]


def model_of_cast(source: DType, target: DType, shape: tuple[int, ...]) -> spirloom.Model:
    """A model of one cast."""
    graph = Graph([Tensor("x", source, shape)])
    build = Builder(LIBRARY, graph)
    build.name = "y"
    graph.outputs = [build.emit("aten._to_copy", x=graph.inputs[0], dtype=str(target))]
    return spirloom.load(graph_file.to_bytes(graph))


def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """x converted by the device."""
    own = {each.long_name: each for each in DType}
    source, target = (own[str(each).removeprefix("torch.")] for each in (x.dtype, dtype))
    (found,) = model_of_cast(source, target, tuple(x.shape))(x)
    assert found.dtype is dtype
    return found  # type: ignore[no-any-return]


def assert_same(found: torch.Tensor, wanted: torch.Tensor) -> None:
    """Equal bits, or NaN."""
    found, wanted = found.float(), wanted.float()
    equal = (found == wanted) & (found.signbit() == wanted.signbit())
    assert bool((equal | (found.isnan() & wanted.isnan())).all())


@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_every_code(dtype: torch.dtype) -> None:
    x = CODES
    if dtype is torch.float16:  # devices may flush fp16 denormals
        x = x[~((x.abs() < 2**-14) & (x != 0))]
    assert_same(cast(x, dtype), x.to(dtype))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_every_code_as_an_integer(dtype: torch.dtype) -> None:
    x = CODES
    if dtype is not torch.bool:  # others are undefined
        limits = torch.iinfo(dtype)
        x = x[(x.float() >= limits.min) & (x.float() <= limits.max)]
    assert torch.equal(cast(x, dtype), x.to(dtype))


def test_rounding_is_that_of_torch() -> None:
    """Next to each value, and next to the middle of each two values."""
    bits = torch.arange(1 << 16).to(torch.int64) << 16
    near = torch.cat([bits + offset for offset in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
    x = near.to(torch.uint32).view(torch.float32)
    assert_same(cast(x, torch.bfloat16), x.to(torch.bfloat16))


@pytest.mark.parametrize("dtype", [torch.float16, *WIDE[2:], *INTEGERS], ids=str)
def test_from_other_types(dtype: torch.dtype) -> None:
    if dtype is torch.int32:
        x = torch.randint(-(2**31), 2**31 - 1, (10_000,), dtype=dtype)
    elif dtype is torch.float16:
        x = torch.arange(1 << 16).to(torch.int32).to(torch.uint16).view(dtype)
        x = x[~((x.abs() < 2**-14) & (x != 0))]
    elif dtype is torch.bool:
        x = torch.tensor([False, True])
    else:
        x = torch.arange(256).to(torch.uint8).view(dtype)
    assert_same(cast(x, torch.bfloat16), x.float().to(torch.bfloat16))


def test_conversion_in_numpy_is_that_of_torch() -> None:
    codes: Array = CODES.view(torch.int16).numpy().view(DType.BF16.numpy)
    assert_same(torch.from_numpy(decoded(codes, DType.BF16)), CODES)
    torch.manual_seed(1)
    x = torch.randint(0, 1 << 32, (100_000,)).to(torch.uint32).view(torch.float32)
    for wide in (x.numpy(), x.double().numpy()):
        found = torch.from_numpy(encoded(wide, DType.BF16).view("i2")).view(torch.bfloat16)
        assert_same(found, x.to(torch.bfloat16))


class Net(nn.Module):  # type: ignore[misc]
    """A table, a norm, a layer with bias, a gated layer, and a layer without bias."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(50, 64)
        self.norm = nn.LayerNorm(64)
        self.first = nn.Linear(64, 48)
        self.last = nn.Linear(48, 40, bias=False)

    def forward(self, index: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """[rows], [rows, 64] to [rows, 40]"""
        return self.last(torch.relu(self.first(self.norm(self.table(index) + x))))


def arguments(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(rows)
    return torch.randint(0, 50, (rows,)), torch.randn(rows, 64).bfloat16()


def imported(net: nn.Module, args: tuple[torch.Tensor, ...]) -> Graph:
    program = torch.export.export(net, args)
    return build(program_of(decompose(program, LIBRARY)), LIBRARY, Options())


@pytest.mark.parametrize("rows", [1, 5, 70])
def test_weights_inputs_and_outputs_stay_bfloat16(rows: int) -> None:
    net, args = Net().bfloat16().eval(), arguments(rows)
    graph = imported(net, args)
    types = {node.op: t.dtype for node in graph.nodes for t in node.inputs() if len(t.shape) == 2}
    layers = ["spirloom.embedding_bf16", "spirloom.linear_bf16"]
    assert [types[op] for op in layers] == [DType.BF16] * 2
    assert sum(node.op == layers[1] for node in graph.nodes) == 2
    weights = sum(t.size for t in graph.tensors() if t.data is not None and len(t.shape) == 2)
    assert weights == 2 * (50 * 64 + 64 * 48 + 48 * 40)
    assert [t.dtype for t in (*graph.inputs, *graph.outputs)] == [DType.I32, *[DType.BF16] * 2]
    (found,) = spirloom.load(graph_file.to_bytes(graph))(*args)
    exact = net.float()(args[0], args[1].float()).detach()
    check(found, exact.bfloat16())
    assert (found.float() - exact).abs().max() <= 2**-8 * exact.abs().max()


@BOTH
def test_compiled(compiled: Compile) -> None:
    net, args = Net().bfloat16().eval(), arguments(5)
    with torch.no_grad():
        check(compiled(net, *args)(*args), net(*args))


def test_weights_of_other_types_are_unchanged() -> None:
    """A float32 weight next to a bfloat16 one, and all weights with fp16."""
    net = Net().eval()
    net.first.weight.data = net.first.weight.data.bfloat16().float()
    net.table.weight.data = torch.full((50, 64), 0.5)
    args = (arguments(3)[0], arguments(3)[1].float())
    assert not {n.op for n in imported(net, args).nodes} & {"spirloom.linear_bf16"}
    program = torch.export.export(Net().bfloat16().eval(), arguments(3))
    graph = build(program_of(decompose(program, LIBRARY)), LIBRARY, Options(fp16=True))
    assert not any(n.op.endswith("_bf16") for n in graph.nodes)


def test_arrays() -> None:
    """NumPy arrays: of ml_dtypes, and the codes in the type of the input."""
    model = model_of_cast(DType.BF16, DType.F32, (2, 3))
    wanted = np.linspace(-2, 3, 6, dtype=np.float32).reshape(2, 3)
    given: Any = wanted.astype(ml_dtypes.bfloat16)
    codes = given.view(np.uint16).view(model.inputs[0].dtype)
    for x in (given, given.T.copy().T, codes):
        np.testing.assert_array_equal(model(x)[0], given.astype(np.float32))
    with pytest.raises(WrongType, match=r"has dtype bfloat16; the array has dtype float32\. Pass"):
        model(wanted)


def test_compared(tmp_path: Path) -> None:
    """`spirloom compare` draws bfloat16 inputs, and computes with the values of outputs."""
    net, args = Net().bfloat16().eval(), arguments(3)
    path = tmp_path / "net.slg"
    path.write_bytes(graph_file.to_bytes(imported(net, args)))
    (found,) = compare(path, path, {}, seed=1).outputs
    assert found.max_abs == 0 and found.cosine == pytest.approx(1)


def test_bound_memory() -> None:
    """A tensor that is an input's or output's memory."""
    model = model_of_cast(DType.BF16, DType.BF16, (64, 64))
    x, y = torch.randn(64, 64).bfloat16(), torch.zeros(64, 64).bfloat16()
    model.run([x], out=[y])
    assert torch.equal(x, y)
