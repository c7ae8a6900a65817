"""Partitions of programs: host calls with reasons, and patterns that are not split."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from spirloom.op_library import OpLibrary
from spirloom.partition import Placement, Plan, partition
from spirloom.torch.export import decompose
from spirloom.torch.fx_program import TracedGraph, read_traced
from spirloom.torch.options import Options
from spirloom.torch.partition import network_of, pattern_groups_of
from spirloom.torch.support_survey import Limits, Survey, survey

LIBRARY = OpLibrary()


class Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def traced(function: Any, *args: Any) -> TracedGraph:
    exported = torch.export.export(Function(function), args, strict=False)
    return read_traced(decompose(exported, LIBRARY).graph_module, {})


def surveyed(function: Any, *args: Any, limits: Limits | None = None) -> tuple[TracedGraph, Survey]:
    found = traced(function, *args)
    return found, survey(found.program, LIBRARY, Options(), {}, limits)


def plan_segments(function: Any, *args: Any) -> tuple[Plan, list[str]]:
    """The plan, and the operators in order."""
    whole, found = surveyed(function, *args)
    groups = pattern_groups_of(whole.program, found, LIBRARY)
    return partition(network_of(whole.program, found, {}, groups)), [
        call.target for call in whole.program.calls
    ]


def reasons(function: Any, *args: Any, limits: Limits | None = None) -> dict[str, str]:
    whole, found = surveyed(function, *args, limits=limits)
    return {
        call.target: reason
        for call, reason in zip(whole.program.calls, found.reasons, strict=True)
        if reason
    }


def x(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype)


@pytest.mark.parametrize(
    ("function", "args", "op", "reason"),
    [
        (lambda a: torch.linalg.qr(a)[0], (x(3, 3),), "aten.linalg_qr",
         "there is no operator for it"),
        (lambda a: torch.nonzero(a) + 1, (x(3),), "aten.nonzero",
         "its output size depends on the data; shapes must be known at import"),
        (lambda a: torch.nonzero(a) + 1, (x(3),), "aten.add.Tensor",
         "it reads 'nonzero', which has a size that depends on the data"),
        (lambda a: torch.relu(a) * a.sum().item(), (x(3),), "aten.item",
         "it converts a tensor to a number, which is known only at run time"),
        (lambda a: torch.view_as_complex(a) * 2, (x(3, 2),), "aten.view_as_complex",
         "the element type complex64 is not supported"),
        (lambda a: torch.relu(a), (x(3, dtype=torch.float64),), "aten.relu",
         "it reads 'args_0', which is float64, which the device would round to float32"),
        (lambda a: torch.relu(a), (x(*[1] * 9),), "aten.relu",
         "it reads 'args_0', which has rank 9"),
    ],
)  # fmt: skip
def test_reasons(function: Any, args: tuple[Any, ...], op: str, reason: str) -> None:
    assert reasons(function, *args)[op] == reason


def test_a_value_that_exceeds_the_devices_buffers() -> None:
    found = reasons(lambda a: torch.cat([a, a]).sum(), x(100), limits=Limits(400, "this"))
    needs = "needs 800 B, which exceeds a buffer of this, 400 B"
    assert found.pop("aten.cat") == f"its result f32[200] {needs}"
    assert list(found.values()) == [f"it reads 'cat', which {needs}"]
    assert not reasons(lambda a: torch.cat([a, a]).sum(), x(100), limits=Limits(800, "this"))


def test_the_device_continues_after_host_calls() -> None:
    def run(a: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.fft.fft(torch.relu(a @ w)).real.contiguous() @ w)

    plan, ops = plan_segments(run, x(64, 64), x(64, 64))
    assert [segment.placement for segment in plan.segments] == [
        Placement.DEVICE,
        Placement.HOST,
        Placement.DEVICE,
    ]
    assert ops[plan.segments[1].nodes[0]] == "aten._fft_r2c"


PATTERNS: dict[str, Any] = {
    "silu": lambda h: h * torch.sigmoid(h),
    "gelu": lambda h: 0.5 * h * (1 + torch.erf(h / 2**0.5)),
    "hardswish": lambda h: h * torch.clamp(h + 3, 0, 6) / 6,
    "layer_norm": lambda h: (h - h.mean(1, True))
    / torch.sqrt((h - h.mean(1, True)).pow(2).mean(1, True) + 1e-5),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_not_split(name: str) -> None:
    """A pattern between host calls is in one segment."""

    def run(a: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        h = torch.fft.fft(a).real.contiguous()
        y = PATTERNS[name](h)
        return torch.fft.fft(y).real @ w

    whole, found = surveyed(run, x(64, 64), x(64, 64))
    groups = pattern_groups_of(whole.program, found, LIBRARY)
    network = network_of(whole.program, found, {}, groups)
    inner = [
        i
        for i, (call, reason) in enumerate(zip(whole.program.calls, found.reasons, strict=True))
        if not reason and call.target not in ("aten.mm", "aten.matmul", "aten.clone")
    ]
    joined = {i for group in groups for i in group}
    assert len(joined & set(inner)) >= 2
    plan = partition(network)
    for group in groups:
        homes = {
            at
            for at, s in enumerate(plan.segments)
            for i in group
            if i in s.nodes and not network.nodes[i].known
        }
        assert len(homes) <= 1


def test_sizes_are_known_on_both_sides() -> None:
    """Dynamic sizes are no inputs of segments."""
    dim = torch.export.Dim("batch", min=2, max=9)

    def run(a: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        h = torch.mm(a.view(a.shape[0] * 2, -1), w).double().exp().float()
        return torch.mm(h, w) * a.shape[0]

    args = (x(4, 256), x(128, 128))
    exported = torch.export.export(
        Function(run), args, dynamic_shapes={"args": ({0: dim}, None)}, strict=False
    )
    whole = read_traced(decompose(exported, LIBRARY).graph_module, {})
    (symbol,) = {
        s.symbol()
        for m in whole.program.metas.values()
        for s in m.shape
        if hasattr(s, "symbol") and s.symbol()
    }
    assert symbol is not None
    found = survey(whole.program, LIBRARY, Options(), {symbol: 4})
    plan = partition(network_of(whole.program, found, {symbol: 4}))
    assert [segment.placement for segment in plan.segments] == [
        Placement.DEVICE,
        Placement.HOST,
        Placement.DEVICE,
    ]
    taken = {name for segment in plan.segments for name in segment.inputs}
    assert taken <= set(whole.program.metas)  # tensors only
