"""Methods of a module in one file, with shared weights and states, compared with eager PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from spirloom.errors import ImportFailure
from spirloom.graph_reader import load_methods


class Decoder(torch.nn.Module):  # type: ignore[misc]
    """A cache of projected rows, which both methods write and read."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(8, 8, bias=False)
        self.register_buffer("cache", torch.zeros(16, 8))
        self.register_buffer("offset", torch.ones(8))

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(0, at, self.project(x))
        seen = torch.arange(16) <= at[:, None]
        return torch.softmax((x @ self.cache.T).masked_fill(~seen, -torch.inf), -1) @ self.cache

    def decode(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return self(x, at)[0] + self.offset

    def total(self) -> torch.Tensor:
        return self.cache.sum(0)


METHODS = {
    "prefill": ((torch.randn(4, 8), torch.arange(4)), None),
    "decode": ((torch.randn(1, 8), torch.tensor([4])), None),
    "total": ((), None),
}


def test_methods_share_a_cache(tmp_path: Path) -> None:
    module = Decoder().eval()
    spirloom.torch.export_methods(module, METHODS, output=tmp_path / "net.slg")
    data = (tmp_path / "net.slg").read_bytes()
    assert spirloom.torch.export_methods(module, METHODS) == data
    graphs = load_methods(tmp_path / "net.slg")
    assert [graph.name for graph in graphs] == ["prefill", "decode", "total"]
    assert [[s.tensor.name for s in graph.states] for graph in graphs] == [["cache"]] * 3
    assert data.count(module.project.weight.detach().numpy().tobytes()) == 1
    prefill = spirloom.load(data)
    decode, total = (prefill.context(m, share_states=True) for m in ("decode", "total"))
    x = torch.randn(6, 8)
    with torch.no_grad():
        wanted = module(x[:4], torch.arange(4))
        np.testing.assert_allclose(prefill(x[:4], torch.arange(4))[0], wanted, 1e-5, 1e-5)
        for i in (4, 5):
            at = torch.tensor([i])
            wanted = module.decode(x[i : i + 1], at)
            np.testing.assert_allclose(decode(x[i : i + 1], at)[0], wanted, 1e-5, 1e-5)
        np.testing.assert_allclose(total()[0], module.total(), 1e-5, 1e-5)
    copies = [row for row in decode.profile() if row.op == "copy"]
    assert not copies, "the cache is updated in place"


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ImportFailure, match="No method has a size, an input or a state named 'z'"):
        spirloom.torch.export_methods(Decoder(), METHODS, ranges={"z": (0, 1)})
