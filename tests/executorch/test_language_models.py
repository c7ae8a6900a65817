"""KV cache and attention operators: `llama.*` and `et_vk.*`, in single calls and in an export."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import spirloom
import torch
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  registers llama::*
from spirloom import graph_file
from spirloom.op_library import OpLibrary
from spirloom.pte.file import ProgramFile
from spirloom.pte.importer import import_method
from spirloom.torch.options import Options

from tests.executorch.llama import CONTEXT, export
from tests.executorch.programs import Lowered, load, run

STEPS = 64
SLOTS = 16


class Caches(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, SLOTS, 2, 8))
        self.register_buffer("values", torch.zeros(1, SLOTS, 2, 8))

    def position(self, position: torch.Tensor) -> Any:
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start < SLOTS)
        return start


class Separate(Caches):
    """Two cache updates and an attention, which ExecuTorch fuses."""

    def forward(self, q: Any, k: Any, v: Any, position: Any) -> Any:
        start = self.position(position)
        torch.ops.llama.update_cache(k, self.keys, start)
        torch.ops.llama.update_cache(v, self.values, start)
        return torch.ops.llama.custom_sdpa(q, self.keys, self.values, start, None, 0, True)


class Fused(Caches):
    def forward(self, q: Any, k: Any, v: Any, position: Any) -> Any:
        start = self.position(position)
        return torch.ops.llama.sdpa_with_kv_cache(
            q, k, v, self.keys, self.values, start, 1, None, 0, True, 0.3
        )


class Updated(Caches):
    """A cache that is read by another operator than attention."""

    def forward(self, q: Any, k: Any, v: Any, position: Any) -> Any:
        torch.ops.llama.update_cache(k, self.keys, self.position(position))
        return self.keys * 2.0


def steps(count: int) -> list[tuple[torch.Tensor, ...]]:
    random = torch.Generator().manual_seed(5)

    def some(heads: int) -> torch.Tensor:
        return torch.randn(1, 1, heads, 8, generator=random)

    return [(some(4), some(2), some(2), torch.tensor([i])) for i in range(count)]


def imported(program: bytes, folder: Path) -> spirloom.Model:
    """Imports the program as one graph, without ExecuTorch."""
    (folder / "net.pte").write_bytes(program)
    graph = import_method(ProgramFile(folder / "net.pte"), OpLibrary(), Options())
    return spirloom.load(graph_file.to_bytes(graph))


@pytest.mark.parametrize("kind", [Separate, Fused, Updated])
def test_caches_are_states(kind: type[Caches], tmp_path: Path) -> None:
    module = kind()
    inputs = steps(SLOTS)
    program = Lowered(kind(), inputs[0])
    assert program.delegates == 1 and not program.kernels
    method, graph = load(program.buffer), imported(program.buffer, tmp_path)
    for given in inputs:
        expected = module(*given).clone()
        torch.testing.assert_close(run(method, given)[0], expected, rtol=1e-5, atol=1e-5)
        ours = torch.as_tensor(graph(*given)[0])
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)


def test_general_attention() -> None:
    """Attention with an additive mask."""
    from executorch.backends.vulkan import custom_ops_lib  # noqa: F401  registers et_vk::*

    class Attention(torch.nn.Module):  # type: ignore[misc]
        def forward(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
            return torch.ops.et_vk.sdpa(q, k, v, mask, 0.2)

    random = torch.Generator().manual_seed(1)
    q, k, v = (torch.randn(1, 2, n, 8, generator=random) for n in (5, 7, 7))
    inputs = (q, k, v, torch.randn(1, 1, 5, 7, generator=random))
    expected = torch.nn.functional.scaled_dot_product_attention(*inputs, scale=0.2)
    program = Lowered(Attention(), inputs)
    method = load(program.buffer)
    torch.testing.assert_close(run(method, inputs)[0], expected, rtol=1e-5, atol=1e-5)


def next_token(logits: torch.Tensor) -> torch.Tensor:
    return logits[0, -1].argmax().view(1, 1)


@pytest.mark.parametrize("mode", ["f32", "4w", "8da4w"])
def test_tokens_of_an_export(mode: str, tmp_path: Path) -> None:
    """ExecuTorch's runtime and the imported graph generate the same tokens as PyTorch."""
    exported = export(mode)
    assert exported.delegates == 1 and not exported.kernels
    method, graph = load(exported.program), imported(exported.program, tmp_path)
    # int8 activations half-way between two codes may round to either.
    tolerance = 2e-2 if mode == "8da4w" else 1e-4
    token = torch.tensor([[1]])
    for step in range(STEPS):
        position = torch.tensor([step])
        with torch.no_grad():
            expected = exported.eager(token, {"input_pos": position})
        for logits in (
            run(method, (token, position))[0],
            torch.as_tensor(graph(token, position)[0]),
        ):
            assert (logits - expected).abs().max() <= tolerance
            assert next_token(logits) == next_token(expected)
        token = next_token(expected)
    assert STEPS < CONTEXT


@pytest.mark.parametrize(("mode", "tolerance"), [("f32", 2e-2), ("8da4w", 5e-2)])
def test_half_floats(mode: str, tolerance: float) -> None:
    exported = export(mode, fp16=True)
    assert exported.delegates == 1
    method = load(exported.program)
    token = torch.tensor([[7]])
    for step in range(4):
        position = torch.tensor([step])
        with torch.no_grad():
            expected = exported.eager(token, {"input_pos": position})
        assert (run(method, (token, position))[0] - expected).abs().max() <= tolerance
        token = next_token(expected)


def test_a_prompt_of_several_tokens(tmp_path: Path) -> None:
    """An export with a dynamic number of tokens: prefill, then decode. The imported graph has the
    maximum number of tokens."""
    exported = export("f32", dynamic=True)
    graph, module = imported(exported.program, tmp_path), copy.deepcopy(exported.eager)
    prompt = torch.arange(CONTEXT - 1).view(1, -1)
    for start in (1, 0):
        with torch.no_grad():
            expected = module(prompt, {"input_pos": torch.tensor([start])})
        logits = torch.as_tensor(graph(prompt, torch.tensor([start]))[0])
        assert (logits - expected).abs().max() <= 1e-4
    method = load(exported.program)
    position = 0
    for tokens in ([5, 9, 2, 44, 7], [3], [61], [12, 13]):
        given = (torch.tensor([tokens]), torch.tensor([position]))
        with torch.no_grad():
            expected = exported.eager(given[0], {"input_pos": given[1]})
        logits = run(method, given)[0]
        assert logits.shape == expected.shape
        assert (logits - expected).abs().max() <= 1e-4
        position += len(tokens)


def test_a_cache_that_is_an_input() -> None:
    """A call may only update buffers of the delegate."""

    class Given(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, cache: Any) -> Any:
            torch.ops.llama.update_cache(x, cache, 0)
            return x * 2.0

    inputs = (torch.randn(1, 1, 2, 8), torch.zeros(1, 4, 2, 8))
    with pytest.raises(
        RuntimeError, match="which the call updates in place, is not a buffer of the"
    ):
        load(Lowered(Given(), inputs).buffer)
