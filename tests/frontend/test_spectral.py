"""Fourier transforms and RoiAlign compared with NumPy and torchvision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from spirloom.ir import Array
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node, random


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("inverse", "onesided"), [(0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize("length", [5, 7, 10])
def test_dft(
    library: OpLibrary, tmp_path: Path, parts: int, inverse: int, onesided: int, length: int
) -> None:
    x = random(2, 7, 3, parts)
    made = node("DFT", "x n", axis=1, inverse=inverse, onesided=onesided)
    constants = {"n": np.array(length, np.int64)}
    graph = imported(model([made], {"x": x.shape}, constants, opset=17), library, tmp_path)
    signal = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    transform = np.fft.ifft if inverse else np.fft.fft
    expected = transform(signal, length, axis=1)
    if onesided:
        expected = expected[:, : length // 2 + 1]
    expected = np.stack([expected.real, expected.imag], axis=-1)
    np.testing.assert_allclose(compute(graph, x), expected, rtol=1e-4, atol=1e-5)


def test_stft_with_a_window(library: OpLibrary, tmp_path: Path) -> None:
    x, window = random(2, 100), np.hanning(16).astype(np.float32)
    constants: dict[str, Array] = {"step": np.array(5, np.int64), "window": window}
    made = model(
        [node("STFT", "x step window")],
        {"x": x.shape},
        constants,
        opset=17,
    )
    y = compute(imported(made, library, tmp_path), x)
    expected = torch.stft(
        torch.tensor(x), 16, 5, window=torch.tensor(window), center=False, return_complex=True
    )
    wanted = torch.view_as_real(expected).permute(0, 2, 1, 3).numpy()
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("ratio", [0, 1, 2])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(library: OpLibrary, tmp_path: Path, aligned: bool, ratio: int) -> None:
    x = random(2, 3, 6, 8)
    # Inside, partly outside the image, far outside, and smaller than one element.
    boxes = np.array([[2, 2, 9, 7], [-6, -4, 6, 8], [12, 3, 30, 20], [4, 4, 4.2, 4.3]], np.float32)
    images = np.array([0, 1, 1, 0], np.int64)
    made = node(
        "RoiAlign",
        "x boxes images",
        output_height=3,
        output_width=2,
        sampling_ratio=ratio,
        spatial_scale=0.5,
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )
    constants: dict[str, Array] = {"boxes": boxes, "images": images}
    graph = imported(model([made], {"x": x.shape}, constants, opset=16), library, tmp_path)
    regions = np.concatenate([images[:, None].astype(np.float32), boxes], axis=1)
    torchvision = pytest.importorskip("torchvision")
    expected = torchvision.ops.roi_align(
        torch.tensor(x), torch.tensor(regions), (3, 2), 0.5, ratio, aligned
    )
    np.testing.assert_allclose(compute(graph, x), expected.numpy(), rtol=1e-4, atol=1e-5)
