"""Operators of PyTorch that are imported as several of Spirloom's, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
import transformers
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.graph_reader import read_methods
from torch.nn import functional

Function = Callable[..., Any]
attend: Function = functional.scaled_dot_product_attention  # type: ignore[attr-defined]


class Calling(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def compare(function: Function, *args: torch.Tensor, tolerance: float = 1e-4) -> None:
    """Compares the imported function with eager PyTorch, also the types."""
    torch.manual_seed(0)
    module = function if isinstance(function, torch.nn.Module) else Calling(function)
    with torch.no_grad():
        found = module(*args)
    expected = torch.utils._pytree.tree_leaves(found)
    model = spirloom.load(spirloom.torch.export(module.eval(), args))
    arrays = [_narrow(leaf.numpy()) for leaf in torch.utils._pytree.tree_leaves(args)]
    names = [tensor.name for tensor in model.inputs]
    results = model(**dict(zip(names, arrays, strict=True)))
    for given, wanted in zip(results, expected, strict=True):
        assert given.dtype == _narrow(wanted.numpy()).dtype
        np.testing.assert_allclose(given, wanted.numpy(), rtol=tolerance, atol=tolerance)


def _narrow(array: Any) -> Any:
    return array.astype(np.int32) if array.dtype == np.int64 else array


def randn(*shape: int) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return torch.randn(*shape)


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3, 4, 5, 8), (2, 3, 4, 6, 8), (2, 3, 4, 6, 8)),
        ((2, 1, 3, 4, 5, 8), (1, 2, 3, 4, 6, 8), (1, 2, 3, 4, 6, 8)),
        ((2, 4, 5, 8), (1, 4, 6, 8), (1, 4, 6, 8)),
        ((1, 4, 5, 8), (2, 4, 6, 8), (2, 4, 6, 8)),
        ((2, 4, 5, 8), (2, 1, 6, 8), (2, 4, 6, 8)),
        ((2, 1, 5, 8), (2, 4, 6, 8), (2, 4, 6, 8)),
        ((2, 4, 5, 8), (4, 6, 8), (6, 8)),
    ],
    ids=str,
)
def test_attention_of_any_rank_broadcasts(shapes: tuple[tuple[int, ...], ...]) -> None:
    compare(attend, *(randn(*shape) for shape in shapes))


@pytest.mark.parametrize("mask", [(5, 6), (3, 1, 5, 6), (2, 3, 4, 5, 6)], ids=str)
@pytest.mark.parametrize("boolean", [False, True])
def test_masked_attention_of_rank_5(mask: tuple[int, ...], boolean: bool) -> None:
    given = randn(*mask) > -1 if boolean else randn(*mask)
    shapes = ((2, 3, 4, 5, 8), (2, 3, 4, 6, 8), (2, 3, 4, 6, 8))
    compare(lambda q, k, v, m: attend(q, k, v, m), *(randn(*s) for s in shapes), given)


def test_addition_of_bools() -> None:
    a, b = randn(9), randn(8, 9)
    compare(lambda a, b: (a > 0) + (b > 0), a, b)
    compare(lambda a, b: ((a > 0) + (b > 0)) * 2, a, b)
    compare(lambda a: (a > 0) + True, a)
    compare(lambda a, b: torch.add(a > 0, b > 0, alpha=False), b, b)


@pytest.mark.parametrize("decimals", [0, 1, 3, -1, -2])
def test_round_to_decimals(decimals: int) -> None:
    compare(lambda x: torch.round(x, decimals=decimals), randn(50) * 100)


SORTED = randn(7).sort().values
SORTED_ROWS = randn(3, 7).sort(-1).values


@pytest.mark.parametrize("right", [False, True])
def test_search_in_sorted_values(right: bool) -> None:
    """Also of values that are elements, infinities and NaN."""
    special = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0])
    values = torch.cat([randn(2, 4), SORTED[None, :4], special[None]])
    rows = torch.cat([randn(3, 4), SORTED_ROWS[:, 2:5]], -1)
    order = torch.tensor([2, 0, 1])

    def shuffled(s: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.searchsorted(s, v, sorter=order, right=right)

    compare(lambda s, v: torch.searchsorted(s, v, right=right), SORTED, values)
    compare(lambda s, v: torch.searchsorted(s, v, side="left" if not right else "right",
                                            out_int32=True), SORTED_ROWS, rows)  # fmt: skip
    compare(shuffled, torch.tensor([2.0, 3.0, 1.0]), randn(5))
    compare(lambda s: torch.searchsorted(s, 0.3, right=right), SORTED)
    compare(lambda v: torch.bucketize(v, SORTED, right=right), values)
    compare(lambda v: torch.bucketize(v, torch.tensor([1, 3, 5]), right=right), torch.arange(8))


def test_histograms() -> None:
    compare(lambda x: torch.histc(x, bins=5, min=-1, max=1), randn(400))
    compare(lambda x: torch.histc(x, bins=8, min=0, max=7), torch.arange(30).float() % 8)
    with pytest.raises(ImportFailure, match="its bounds depend on the data; pass min and max"):
        spirloom.torch.export(Calling(lambda x: torch.histc(x, bins=5)), (randn(4),))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("size", [(5, 7), (20, 4), (11, 1), 0.37, 1.37], ids=str)
def test_antialiased_resize(mode: str, align_corners: bool, size: Any) -> None:
    given: dict[str, Any] = {"scale_factor" if isinstance(size, float) else "size": size}
    given |= {"mode": mode, "align_corners": align_corners, "antialias": True}
    compare(lambda x: functional.interpolate(x, **given), randn(2, 3, 11, 13))


@pytest.mark.parametrize(
    "options",
    [{}, {"bidirectional": True, "num_layers": 2, "batch_first": True}, {"bias": False}],
    ids=str,
)
def test_lstm_with_projections(options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    compare(torch.nn.LSTM(5, 8, proj_size=3, **options), randn(4, 2, 5))


@pytest.mark.parametrize("steps", [1, 4])
def test_lstm_with_projections_and_initial_states(steps: int) -> None:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(5, 8, proj_size=3, num_layers=2, bidirectional=True)
    compare(lambda x, h, c: lstm(x, (h, c)), randn(steps, 2, 5), randn(4, 2, 3), randn(4, 2, 8))


def test_float16_times_a_scalar_beyond_float16() -> None:
    """PyTorch computes such products and quotients in float32."""
    x = torch.tensor([1e-3, 0.5, -0.2, 0.1]).half()
    compare(lambda x: x * 1e5, x, tolerance=1e-3)
    compare(lambda x: x * 100_000, x, tolerance=1e-3)
    compare(lambda x: x / 1e-4 * 1e-6, x, tolerance=1e-3)
    compare(lambda x: x * torch.tensor(1e5), x, tolerance=1e-3)
    compare(lambda x: x / 1e5, (x * 6e4).half(), tolerance=1e-3)
    compare(lambda x: x * 3e-7 * 1000, (x * 6e4).half(), tolerance=1e-3)


def test_cumulative_sum_in_another_type() -> None:
    compare(lambda x: x.cumsum(0, dtype=torch.int32), randn(5) * 3)
    compare(lambda x: x.cumprod(0, dtype=torch.float32), torch.arange(1, 6))


@pytest.mark.parametrize("ends", [[2, 2, 7, 8], [0, 0, 0, 0], [8, 8, 8, 8]], ids=str)
def test_grouped_matmul(ends: list[int]) -> None:
    """As of transformers' experts, whose operator PyTorch executes in any type."""
    pytest.importorskip("transformers.integrations.moe")
    grouped = torch.ops.transformers.grouped_mm_fallback
    compare(grouped, randn(8, 16), randn(4, 16, 24), torch.tensor(ends, dtype=torch.int32))


class Products(torch.nn.Module):  # type: ignore[misc]
    """Matrix products with a constant, three of which are linear layers, and others."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(randn(6, 5))
        self.bias = torch.nn.Parameter(randn(5))

    def forward(self, x: torch.Tensor) -> Any:
        layers = x @ self.weight, x[0] @ self.weight, torch.addmm(self.bias, x[0], self.weight)
        others = torch.addmm(self.bias, x[0], self.weight, alpha=2), torch.mm(x[0], x[1].T)
        return *layers, *others


def test_products_with_a_constant_are_linear_layers() -> None:
    module, x = Products().eval(), randn(2, 3, 6)
    compare(module, x)
    (graph,) = read_methods(memoryview(spirloom.torch.export(module, (x,))), "products")
    layers = [node.op for node in graph.nodes if node.op in ("aten.linear", "aten.mm")]
    assert layers == [*["aten.linear"] * 3, "aten.mm"]


def test_mixture_of_experts() -> None:
    """A network of transformers, whose experts are a histogram and grouped matmuls."""
    transformers = pytest.importorskip("transformers")
    config = transformers.Qwen3MoeConfig(
        vocab_size=97, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_experts=4,
        num_experts_per_tok=2, moe_intermediate_size=24, max_position_embeddings=64,
    )  # fmt: skip
    config._experts_implementation = "grouped_mm"
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    compare(lambda ids: model(ids, use_cache=False).logits, torch.randint(0, 97, (2, 9)))


class Scaled(torch.nn.Module):  # type: ignore[misc]
    """Multiplies by a bfloat16 buffer without dimensions, as RecurrentGemma does."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(5.65, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale.type(x.dtype)


def test_bfloat16_scalars() -> None:
    compare(Scaled(), randn(3, 4))


@pytest.mark.parametrize("bias", [False, True])
def test_linear_layers_with_a_vector(bias: bool) -> None:
    compare(functional.linear, randn(2, 3, 8), randn(8), *([torch.tensor(0.7)] if bias else []))


def test_conditions_of_all_elements() -> None:
    """Also those of constants, which only an assertion reads."""

    def checked(x: torch.Tensor) -> Any:
        return torch.ops.aten._is_all_true(x > -9), torch.ops.aten._is_any_true(x > 9)

    compare(checked, randn(3, 4))


def test_float64_constants_are_rounded() -> None:
    """As those of the angles of Flux."""

    def angles(x: torch.Tensor) -> torch.Tensor:
        return (x.double()[:, None] * (0.1 ** torch.arange(3, dtype=torch.float64))).cos().float()

    module, x = Calling(angles), randn(5)
    with pytest.raises(ImportFailure, match="accept its rounding with --float64-as-float32"):
        spirloom.torch.export(module, (x,))
    data = spirloom.torch.export(module, (x,), float64_as_float32=True)
    np.testing.assert_allclose(spirloom.load(data)(x.numpy())[0], module(x), rtol=1e-5)


class Padded(torch.nn.Module):  # type: ignore[misc]
    """A convolution after padding by a buffer, as in Mimi: torch.export does not know its size."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(2, 3, 3)
        self.register_buffer("padding", torch.tensor(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(functional.pad(x, (2, self.padding - x.shape[-1] + 8)))


def test_sizes_of_buffers() -> None:
    compare(Padded(), randn(1, 2, 7))


def test_selected_numbers() -> None:
    """torch.sym_ite() of a check, as in transformers' deformable attention."""

    def checked(x: torch.Tensor) -> torch.Tensor:
        shapes = torch.tensor([[2, 3], [1, 2]])
        torch._check_tensor_all((shapes[:, 0] * shapes[:, 1]).sum() == x.shape[0])
        return x * torch.sym_ite(x.shape[0] == 8, 2, 3)

    compare(checked, randn(8, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
def test_differences(dtype: torch.dtype) -> None:
    x = torch.randint(0, 9, (3, 7)).to(dtype)
    compare(lambda x: x.diff(), x)
    compare(lambda x: x.diff(dim=0), x)
    compare(lambda x: x.diff(n=3, dim=-1), x)
    compare(lambda x: x.diff(prepend=x[:, :1]), x)
    compare(lambda x: x.diff(append=x[:1], dim=0), x)
    compare(lambda x: x.diff(prepend=x[:, 2:4], append=x[:, :1]), x)


@pytest.mark.parametrize("dim", [0, 2, None])
def test_weight_norm(dim: int | None) -> None:
    layer = torch.nn.Conv1d(4, 6, 3)
    compare(torch.nn.utils.parametrizations.weight_norm(layer, dim=dim), torch.randn(2, 4, 9))


@pytest.mark.parametrize("shape", [(1, 4, 9), (3, 4), (3, 4, 5), (2, 4, 3, 5)])
@pytest.mark.parametrize("affine", [False, True])
def test_batch_norm_without_running_statistics(shape: tuple[int, ...], affine: bool) -> None:
    kinds = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}
    norm = kinds[len(shape)](4, affine=affine, track_running_stats=False, eps=1e-3)
    if affine:
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    compare(norm, torch.randn(shape))


class StandardizedConvolution(torch.nn.Conv2d):  # type: ignore[misc]
    """As in BiT and ResNetV2: batch_norm standardizes the weight."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = self.weight.reshape(1, self.out_channels, -1)
        standard = functional.batch_norm(rows, None, None, training=True, momentum=0.0, eps=1e-6)
        return functional.conv2d(x, standard.reshape_as(self.weight), self.bias)


def test_standardized_weights_are_folded() -> None:
    layer = StandardizedConvolution(3, 6, 3).eval()
    x = torch.randn(2, 3, 7, 7)
    compare(layer, x)
    (graph,) = read_methods(memoryview(spirloom.torch.export(layer, (x,))), "layer")
    assert [node.op for node in graph.nodes] == ["aten.convolution"]


def test_assertions_about_values() -> None:
    """torch.export adds aten.item, whose value only the assertion reads."""

    def checked(x: torch.Tensor) -> torch.Tensor:
        lengths = (x > 0).sum(1)
        torch._check(lengths.max().item() <= x.shape[1])
        return x * 2

    compare(checked, torch.randn(3, 4))


def test_real_values_become_complex() -> None:
    compare(lambda x: torch.view_as_real(x.to(torch.complex64)), torch.randn(2, 4))


def test_raw_archives_of_transformers(tmp_path: Path) -> None:
    """Saved as torch.export.export returned them: nothing is decomposed."""
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=99, use_cache=False,
    )  # fmt: skip
    module = transformers.LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 99, (1, 6))
    with torch.no_grad():
        exported = torch.export.export(module, (ids,), strict=False)
        wanted = module(ids).logits.numpy()
    torch.export.save(exported, tmp_path / "llama.pt2")
    assert main(["import", str(tmp_path / "llama.pt2"), "-o", str(tmp_path / "llama.slg")]) == 0
    model = spirloom.load(tmp_path / "llama.slg")
    (name,) = (tensor.name for tensor in model.inputs)
    given = model(**{name: ids.numpy().astype(np.int32)})[0]
    np.testing.assert_allclose(given, wanted, rtol=1e-3, atol=1e-3)
