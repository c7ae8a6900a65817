"""Writes the seed corpus of the archive reader's fuzzer: python -m tests.torch.fuzz_seeds

Small programs, without file paths and sample inputs.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

DIRECTORY = Path(__file__).resolve().parents[1] / "fuzz" / "corpus" / "torch_import"
functional: Any = nn.functional


class Decoder(nn.Module):  # type: ignore[misc]
    """A decoder layer: RMS norm, RoPE, grouped-query attention, a causal mask, a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 8)
        self.weight = nn.Parameter(torch.ones(8))
        self.qkv = nn.Linear(8, 16, bias=False)
        self.gate = nn.Linear(8, 8)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        y = self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        parts = self.qkv(y).view(*ids.shape, 4, 4).transpose(1, 2)
        q, k, v = parts[:, :2], *(parts[:, i : i + 1].expand(-1, 2, -1, -1) for i in (2, 3))
        angles = torch.arange(ids.shape[1])[:, None] * torch.tensor([1.0, 0.1, 1.0, 0.1])
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        q = q * cos + torch.cat((-q[..., 2:], q[..., :2]), -1) * sin
        mask = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
        z = functional.scaled_dot_product_attention(q, k, v, mask)
        found: Tensor = x + functional.silu(self.gate(y)) * z.transpose(1, 2).flatten(2)
        return found


class Convolutions(nn.Module):  # type: ignore[misc]
    """Convolutions, batch norm, pooling, a resize, views."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding=1, groups=2)
        self.norm = nn.BatchNorm2d(4)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = functional.relu6(self.norm(self.conv(x)))
        pooled = functional.max_pool2d(y, 2)
        resized = functional.interpolate(self.up(pooled), scale_factor=2.0, mode="bilinear")
        first, second = resized.split([3, resized.shape[2] - 3], 2)
        return functional.pad(first, (1, 0, 0, 2)).mean((2, 3)), second.flatten(1).softmax(-1)


class Indices(nn.Module):  # type: ignore[misc]
    """Integers, indices, a sort, comparisons."""

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, ...]:
        indices = at.clamp(0, 2) * 2 + 1
        picked = x[:, indices]
        values, order = torch.topk(picked, 2)
        spread = torch.zeros_like(x).scatter(1, order, values)
        counted = torch.where(x > 0, x.cumsum(1), torch.full_like(x, -1.5))
        return spread.index_add(1, indices, picked), counted.to(torch.float16), order + 1


class InPlace(nn.Module):  # type: ignore[misc]
    """In-place operators, and values that are constant at import."""

    def forward(self, x: Tensor) -> Tensor:
        y = (x * 2).add_(1).relu_()
        ones = torch.eye(3)[:, None].repeat(1, 2, 1).reshape(-1, 3)
        return y @ torch.eye(4)[:3].to(x.dtype) + ones.sum()


def programs() -> dict[str, Callable[[], Any]]:
    """Functions that export the programs, by name."""
    batch, length = torch.export.Dim("batch", min=1, max=4), torch.export.Dim("seq", min=2, max=6)
    ids = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    export, x = torch.export.export, torch.randn(2, 6)
    return {
        "decoder": lambda: export(Decoder(), (ids,)).run_decompositions({}),
        "decoder_sizes": lambda: export(
            Decoder(), (ids,), dynamic_shapes=({0: batch, 1: length},)
        ).run_decompositions({}),
        "decoder_bfloat16": lambda: export(Decoder().bfloat16(), (ids,)).run_decompositions({}),
        "convolutions": lambda: export(Convolutions().eval(), (torch.randn(1, 2, 8, 6),)),
        "indices": lambda: export(Indices(), (x, torch.tensor([0, 1, 2]))),
        "in_place": lambda: export(InPlace(), (torch.randn(2, 3),)),
    }


def archive(exported: Any) -> bytes:
    """An archive of torch.export.save, without the content that depends on the machine."""
    whole, out = io.BytesIO(), io.BytesIO()
    torch.export.save(exported, whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            if "sample_inputs" in info.filename:
                continue
            content = source.read(info)
            if info.filename.endswith("models/model.json"):
                content = json.dumps(_stripped(json.loads(content)), separators=(",", ":")).encode()
            target.writestr(zipfile.ZipInfo(info.filename), content)
    return out.getvalue()


def _stripped(model: Any) -> Any:
    for node in model["graph_module"]["graph"]["nodes"]:
        kept = node["metadata"].get("nn_module_stack")
        node["metadata"] = {"stack_trace": '  File "net.py", line 1, in forward'}
        if kept is not None:
            node["metadata"]["nn_module_stack"] = kept
    model["guards_code"] = []
    return model


def main() -> None:
    """Writes all archives."""
    torch.manual_seed(0)
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    for name, export in programs().items():
        with torch.no_grad():
            (DIRECTORY / f"{name}.pt2").write_bytes(archive(export()))


if __name__ == "__main__":
    main()
