"""Complex values within a program, as in the rotary embeddings of Llama's reference code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from spirloom.cli import main
from spirloom.errors import ImportFailure

from tests.torch.test_composed_operators import Calling, compare, randn


class Rotary(torch.nn.Module):  # type: ignore[misc]
    """Rotates pairs of columns by a table of complex values, a buffer or computed ones."""

    def __init__(self, stored: bool) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(16.0), 0.1 ** torch.arange(4.0))
        self.register_buffer("table", torch.polar(torch.ones_like(angles), angles))
        self.register_buffer("inverse", 0.1 ** torch.arange(4.0))
        self.stored = stored

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        values = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        if self.stored:
            table = self.table[: x.shape[1]].view(1, x.shape[1], 1, -1)
        else:
            angles = position[:, None] * self.inverse
            table = (torch.polar(torch.ones_like(angles), angles) * 1.5)[None, :, None, :]
        return torch.view_as_real(values * table).flatten(3)


@pytest.mark.parametrize("stored", [False, True])
def test_rotary_embeddings(stored: bool, tmp_path: Path) -> None:
    module, inputs = Rotary(stored), (randn(2, 5, 3, 8), torch.arange(5.0))
    compare(module, *inputs)
    archive, output = tmp_path / "net.pt2", tmp_path / "net.slg"
    torch.export.save(torch.export.export(module, inputs), archive)
    assert main(["import", str(archive), "-o", str(output)]) == 0
    model = spirloom.load(output)
    (result,) = model(**{t.name: inputs[t.name == "position"].numpy() for t in model.inputs})
    np.testing.assert_allclose(result, module(*inputs), rtol=1e-5, atol=1e-5)


def test_operators() -> None:
    def function(a: torch.Tensor, b: torch.Tensor) -> Any:
        x, y = torch.complex(a, b), torch.view_as_complex(torch.stack([b, a], -1))
        z = (x + y * 2 - x * a).conj() * y.transpose(0, 1).expand(4, 4)[:, 1:2].squeeze(1)
        return z.real, z.imag, z.abs(), torch.view_as_real(z.permute(1, 0).unsqueeze(0))

    compare(function, randn(4, 4), randn(4, 4) + 1)


@pytest.mark.parametrize("scale", [1e25, 1e-25, 2e19, 1.0])
def test_magnitudes_and_angles(scale: float) -> None:
    """Also where the square of a magnitude overflows or underflows."""
    a, b = randn(4, 4), randn(4, 4)
    a[0, :2] = b[1, :2] = 0
    functions: list[Any] = [
        lambda x, y: torch.complex(x * scale, y * scale).abs() / scale,
        lambda x, y: torch.view_as_complex(torch.stack([x * scale, y], -1)).abs() / scale,
        lambda x, y: torch.complex(x * scale, y * scale).angle(),
    ]
    for function in functions:
        compare(function, a, b)


def test_complex_outputs_are_refused() -> None:
    module = Calling(lambda a, b: torch.complex(a, b))
    with pytest.raises(ImportFailure, match=r"is complex64; return torch.view_as_real\(\)"):
        spirloom.torch.export(module, (randn(3), randn(3)))


def test_operators_without_a_rule() -> None:
    module = Calling(lambda a, b: torch.complex(a, b).tan().real)
    with pytest.raises(ImportFailure, match="no operator for its element type complex64"):
        spirloom.torch.export(module, (randn(3), randn(3)))


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("size", [1, 2, 7, 12])
def test_fourier_transforms(size: int, norm: str) -> None:
    x, y = randn(2, 3, size), randn(2, 3, size)

    def pairs(x: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(x)

    compare(lambda x: pairs(torch.fft.fft(x, norm=norm)), x)
    compare(lambda x: pairs(torch.fft.rfft(x, norm=norm)), x)
    compare(lambda x, y: pairs(torch.fft.fft(torch.complex(x, y), norm=norm)), x, y)
    compare(lambda x, y: pairs(torch.fft.ifft(torch.complex(x, y), dim=1, norm=norm)), x, y)
    compare(lambda x, y: torch.fft.irfft(torch.complex(x, y), n=size, norm=norm), x, y)
    compare(lambda x: pairs(torch.fft.rfft(x, n=size + 3, norm=norm)), x)


def test_fourier_transforms_of_several_dimensions() -> None:
    x = randn(2, 6, 5, 8)
    compare(lambda x: torch.view_as_real(torch.fft.fft2(x)), x)
    compare(lambda x: torch.view_as_real(torch.fft.rfftn(x, dim=(1, 3))), x)
    compare(lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=(5, 8)), x)
    compare(lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, x)


class SpectralConvolution(torch.nn.Module):  # type: ignore[misc]
    """As in Fourier neural operators: complex weights of the lowest frequencies."""

    def __init__(self, channels: int, modes: int) -> None:
        super().__init__()
        self.modes = modes
        shape = (channels, channels, modes)
        self.weight = torch.nn.Parameter(torch.randn(shape, dtype=torch.cfloat) / channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = torch.fft.rfft(x)[..., : self.modes]
        made = torch.einsum("bim,iom->bom", found, self.weight)
        return torch.fft.irfft(made, n=x.shape[-1])


def test_spectral_convolutions() -> None:
    compare(SpectralConvolution(4, 5), randn(3, 4, 16))
