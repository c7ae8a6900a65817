"""Calls of ExecuTorch's own operators that no test network contains. Oracle: their definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from executorch.backends.vulkan import custom_ops_lib  # noqa: F401  registers et_vk::*
from executorch.exir.passes import _quant_patterns_and_replacements  # noqa: F401  registers ops

from tests.executorch.programs import Lowered, check, load

VK = torch.ops.et_vk
QUANTIZED = torch.ops.quantized_decomposed


class Calling(torch.nn.Module):  # type: ignore[misc]
    """A call with its inputs and the module's buffers."""

    def __init__(self, function: Callable[..., Any], **buffers: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for name, tensor in buffers.items():
            self.register_buffer(name, tensor)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, **dict(self.named_buffers()))


def _angles(rows: int, columns: int) -> dict[str, torch.Tensor]:
    angles = torch.rand(rows, columns) * 6
    angles = torch.cat([angles, angles], -1)
    return {"cos": torch.cos(angles), "sin": torch.sin(angles)}


@pytest.mark.parametrize("columns", [4, 3])
@pytest.mark.parametrize("fp16", [False, True])
def test_rotary_of_hugging_face(columns: int, fp16: bool) -> None:
    """All columns of the heads, and some of them."""
    torch.manual_seed(1)
    module = Calling(
        lambda q, k, cos, sin: VK.apply_rotary_emb_hf(q, k, cos, sin, 2), **_angles(9, columns)
    )
    inputs = (torch.randn(1, 5, 4, 8), torch.randn(1, 5, 2, 8))
    program = Lowered(module, inputs, force_fp16=fp16)
    assert "et_vk.apply_rotary_emb_hf" in program.names
    check(module, load(program.buffer), inputs, 5e-3 if fp16 else 1e-5)


def test_rotary_tables_with_different_halves() -> None:
    module = Calling(
        lambda q, k, cos, sin: VK.apply_rotary_emb_hf(q, k, cos, sin, 0),
        cos=torch.rand(5, 8),
        sin=torch.rand(5, 8),
    )
    inputs = (torch.randn(1, 5, 4, 8), torch.randn(1, 5, 2, 8))
    with pytest.raises(RuntimeError, match="not a constant whose rows have two equal halves"):
        load(Lowered(module, inputs).buffer)


@pytest.mark.parametrize("shape", [(6, 8), (1, 6, 4, 2)])
def test_interleaved_rotary(shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    module = Calling(VK.apply_rotary_emb_interleaved)
    inputs = (torch.randn(2, 6, 8), torch.randn(shape))
    program = Lowered(module, inputs)
    assert "et_vk.apply_rotary_emb_interleaved" in program.names
    check(module, load(program.buffer), inputs)


@pytest.mark.parametrize("groups", [1, 2])
def test_int4_embedding(groups: int) -> None:
    torch.manual_seed(1)

    def embed(index: Any, weight: Any, scales: Any) -> Any:
        call = QUANTIZED.embedding_4bit.dtype
        return call(weight, scales, None, -8, 7, index, dtype=torch.float32)

    weight = torch.randint(0, 256, (9, 16), dtype=torch.uint8)
    module = Calling(embed, weight=weight, scales=torch.rand(9, groups) + 0.1)
    inputs = (torch.tensor([[0, 8, 3]]),)
    program = Lowered(module, inputs)
    check(module, load(program.buffer), inputs)


def test_quantization_per_token() -> None:
    torch.manual_seed(1)

    def quantize(x: Any) -> Any:
        scale, zero = QUANTIZED.choose_qparams_per_token_asymmetric(x, torch.int8)
        return QUANTIZED.quantize_per_token(x, scale, zero, -128, 127, torch.int8)

    module, inputs = Calling(quantize), (torch.randn(3, 5, 16) * 4,)
    check(module, load(Lowered(module, inputs).buffer), inputs)


def test_int8_layer_with_float_result() -> None:
    """As ExecuTorch fuses it: the operator's own definition does not subtract the zero point."""
    torch.manual_seed(1)
    weight = torch.randint(-127, 128, (12, 16), dtype=torch.int8)
    scales, bias = torch.rand(12) / 99, torch.randn(12)

    def layer(x: Any, weight: Any, scales: Any, zeros: Any, bias: Any) -> Any:
        x = QUANTIZED.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
        x = QUANTIZED.dequantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
        full = QUANTIZED.dequantize_per_channel(weight, scales, zeros, 0, -127, 127, torch.int8)
        return torch.nn.functional.linear(x, full, bias)

    zeros = torch.zeros(12, dtype=torch.int64)
    module = Calling(layer, weight=weight, scales=scales, zeros=zeros, bias=bias)
    inputs = (torch.randn(3, 16),)
    program = Lowered(module, inputs)
    assert "et_vk.linear_q8ta_q8csw" in program.names
    check(module, load(program.buffer), inputs)
