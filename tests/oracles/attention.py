"""Spellings of attention, compared with PyTorch. Accepted: those that become one operator.

.venv-torch/bin/python -m tests.oracles.attention --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import torch
from spirloom.torch.export import decompose, exported_of, graph_of, program_of
from spirloom.torch.options import Options

from tests.frontend import reference_run
from tests.fuzz.campaign import Target, exit_with
from tests.oracles.comparison import LIBRARY, check_close

FUSED = ("scaled_dot_product_attention", "strided_attention")

CHOICES: dict[str, tuple[Any, ...]] = {
    "layout": ("heads_first", "rows_first", "packed", "rank3"),
    "scale": ("query", "key", "scores", "divide", "both", "none"),
    "product": ("matmul", "einsum", "bmm"),
    "mask": ("none", "causal_add", "causal_where", "padding_add", "bool", "finfo"),
    "softmax": ("dim", "float", "manual", "max"),
    "kv_heads": (4, 4, 2, 1),
    "transposed_key": (True, False),
    "dropout": (True, False),
    "batch": (1, 2),
    "rows": (1, 5, 8),
    "keys": (5, 8),
    "depth": (4, 8),
}


class Attention(torch.nn.Module):  # type: ignore[misc]
    """Attention of 4 heads, written as the options say."""

    def __init__(self, how: dict[str, Any]) -> None:
        super().__init__()
        self.how = how
        rows, keys = how["rows"], how["keys"]
        self.register_buffer("causal", torch.tril(torch.ones(rows, keys, dtype=torch.bool), keys))
        later = torch.ones(rows, keys, dtype=torch.bool).triu(max(0, keys - rows) + 1)
        self.register_buffer("later", later)
        self.register_buffer("bias", torch.zeros(rows, keys).masked_fill(later, -1e4))

    def forward(self, q: Any, k: Any, v: Any, padding: Any) -> Any:
        how, depth = self.how, self.how["depth"]
        q, k, v = (self._heads(t) for t in (q, k, v))
        groups = 4 // how["kv_heads"]
        if groups > 1:
            k, v = (t.repeat_interleave(groups, dim=1) for t in (k, v))
        root = math.sqrt(depth)
        if how["scale"] in ("query", "both"):
            q = q * (root**-0.5 if how["scale"] == "both" else 1 / root)
        if how["scale"] in ("key", "both"):
            k = k * (root**-0.5 if how["scale"] == "both" else 1 / root)
        scores = self._product(q, k)
        if how["scale"] == "scores":
            scores = scores * (1 / root)
        if how["scale"] == "divide":
            scores = scores / root
        scores = self._masked(scores, padding)
        weights = self._softmax(scores)
        if how["dropout"]:
            weights = torch.nn.functional.dropout(weights, 0.1, self.training)
        y = weights @ v
        return y.transpose(1, 2).reshape(how["batch"], how["rows"], 4 * depth)

    def _heads(self, t: Any) -> Any:
        """[batch, heads, rows, depth]."""
        if self.how["layout"] == "heads_first":
            return t.unflatten(2, (-1, self.how["depth"])).permute(0, 2, 1, 3)
        t = t.view(*t.shape[:2], t.shape[2] // self.how["depth"], self.how["depth"])
        t = t.transpose(1, 2)
        return t.contiguous() if self.how["layout"] == "packed" else t

    def _product(self, q: Any, k: Any) -> Any:
        if self.how["product"] == "einsum":
            return torch.einsum("bhqd,bhkd->bhqk", q, k)
        if self.how["product"] == "bmm":
            flat = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2))
            return flat.view(*q.shape[:2], *flat.shape[1:])
        return q @ (k.transpose(-1, -2) if self.how["transposed_key"] else k.mT)

    def _masked(self, scores: Any, padding: Any) -> Any:
        kind = self.how["mask"]
        if kind == "causal_add":
            return scores + self.bias
        if kind == "causal_where":
            return torch.where(self.later, torch.full_like(scores, -1e4), scores)
        if kind == "padding_add":
            return scores + (1.0 - padding[:, None, None, :].float()) * -1e4
        if kind == "bool":
            return scores.masked_fill(~padding[:, None, None, :], -1e4)
        if kind == "finfo":
            return scores.masked_fill(self.later, torch.finfo(torch.float32).min)
        return scores

    def _softmax(self, scores: Any) -> Any:
        kind = self.how["softmax"]
        if kind == "float":
            return torch.softmax(scores, -1, dtype=torch.float32)
        if kind == "manual":
            weights = scores.exp()
            return weights / weights.sum(-1, keepdim=True)
        if kind == "max":
            weights = (scores - scores.amax(-1, keepdim=True)).exp()
            return weights / weights.sum(-1, keepdim=True)
        return scores.softmax(-1)


def make(choose: random.Random) -> dict[str, bytes]:
    """The options of a spelling, and the seed of its inputs."""
    how = {name: choose.choice(values) for name, values in CHOICES.items()}
    return {"case.json": json.dumps({**how, "seed": choose.getrandbits(30)}).encode()}


def run(files: dict[str, bytes]) -> bool:
    """Whether the spelling becomes one operator. Raises if the result differs."""
    how = json.loads(files["case.json"])
    generator = torch.Generator().manual_seed(how["seed"])
    widths = [4, how["kv_heads"], how["kv_heads"]]
    rows = [how["rows"], how["keys"], how["keys"]]
    tensors = [
        torch.randn(how["batch"], n, w * how["depth"], generator=generator)
        for n, w in zip(rows, widths, strict=True)
    ]
    padding = torch.arange(how["keys"])[None] < torch.tensor([[how["keys"]], [3]])[: how["batch"]]
    inputs = (*tensors, padding)
    module = Attention(how).eval()
    with torch.no_grad():
        expected = module(*inputs)
    exported = decompose(exported_of(module, inputs, None, None), LIBRARY)
    graph = graph_of(program_of(exported), LIBRARY, Options.of({}, {}))
    arrays = dict(zip(("q", "k", "v", "padding"), (t.numpy() for t in inputs), strict=True))
    given = {t.name: arrays[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    found = reference_run.run(graph, given)
    check_close([found[t.name] for t in graph.outputs], [np.asarray(expected)])
    return any(part in node.op for node in graph.nodes for part in FUSED)


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
