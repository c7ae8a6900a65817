"""Partitioned exports of torch.onnx compared with eager PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import spirloom.onnx
import torch
from torch import Tensor, nn


class Points(nn.Module):  # type: ignore[misc]
    """Pools the features where a score is positive."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.score = nn.Conv2d(32, 1, 1)
        self.mix = nn.Linear(32, 32)
        self.head = nn.Sequential(nn.Conv2d(32, 64, 3), nn.GELU(), nn.Conv2d(64, 8, 3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.features(x)
        points = torch.nonzero(self.score(y)[0, 0] > 0)
        rows = y[0, :, points[:, 0], points[:, 1]].t()
        pooled = self.mix(rows).sum(0) / (points.shape[0] + 1)
        return self.head(y * pooled.reshape(1, 32, 1, 1)), points


class Spectrum(nn.Module):  # type: ignore[misc]
    """Multiplies complex spectra."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = (nn.Conv1d(16, 16, 5, padding=2) for _ in range(2))
        self.filter = nn.Parameter(torch.randn(16, 33, 2))

    def forward(self, x: Tensor) -> Tensor:
        spectrum = torch.fft.rfft(self.before(x).relu()) * torch.view_as_complex(self.filter)
        return self.after(torch.fft.irfft(spectrum, n=64)).tanh()


class Ranked(nn.Module):  # type: ignore[misc]
    """Keeps the tokens whose score is positive, best first."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(64, 64), nn.Linear(64, 64)
        self.score = nn.Linear(64, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.before(x).relu()
        scores, order = torch.sort(self.score(y)[:, 0], descending=True)
        kept = y[order][torch.nonzero(scores > 0)[:, 0]]
        mean = kept.sum(0) / (kept.shape[0] + 1)
        return self.after(y * mean), order


CASES: dict[str, tuple[type, tuple[int, ...], str]] = {
    "points": (Points, (1, 3, 48, 48), "NonZero"),
    "spectrum": (Spectrum, (2, 16, 64), "DFT"),
    "ranked": (Ranked, (128, 64), "NonZero"),
}


@pytest.mark.parametrize("name", CASES)
def test_partitions_agree_with_pytorch(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    make, shape, host_op = CASES[name]
    module, x = make().eval(), torch.randn(shape)
    path = tmp_path / "model.onnx"
    torch.onnx.export(module, (x,), str(path), dynamo=True, verbose=False)
    model = spirloom.onnx.load(path)
    report = model.report
    assert host_op in {node.op for node in report.on_host}
    assert [part.placement for part in report.segments] == ["device", "host", "device"]
    for tensor in (x, torch.randn(shape)):
        with torch.no_grad():
            expected = module(tensor)
        results = model(tensor)
        for result, right in zip(
            results, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            assert result.dtype == right.dtype
            torch.testing.assert_close(result, right, rtol=1e-3, atol=1e-4)
