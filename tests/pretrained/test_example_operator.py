"""examples/operator: its commands; the operator on the device, in PyTorch and in NumPy; and the
image of all examples.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import spirloom
import torch
from PIL import Image

from examples.operator import paint
from tests.example_commands import MODELS, run_documented

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/operator"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """The output of the commands of the README, and their directory."""
    directory = tmp_path_factory.mktemp("operator")
    places = {
        "build/operator": directory,
        "build/painting.png": directory / "painting.png",
    }
    return run_documented(EXAMPLE / "README.md", places), directory


def test_documented_commands(outputs: tuple[dict[str, str], Path]) -> None:
    printed, directory = outputs
    found = re.fullmatch(r"mean difference from PyTorch: (\S+)\n", list(printed.values())[-1])
    assert found and float(found[1]) < 1e-4  # equal variances: either quadrant
    photo = np.asarray(Image.open(ROOT / "examples/photo/coffee.jpg"), np.float32)
    painting = np.asarray(Image.open(directory / "painting.png"), np.float32)
    assert painting.shape == photo.shape
    assert 5 < np.abs(painting - photo).mean() < 40


@pytest.mark.parametrize(("shape", "radius"), [((1, 3, 9, 13), 2), ((2, 1, 4, 5), 1)])
def test_operator(
    outputs: tuple[dict[str, str], Path], shape: tuple[int, ...], radius: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The device, the definition for PyTorch and the reference of the spec agree."""
    monkeypatch.syspath_prepend(EXAMPLE / "op_specs")
    from kuwahara import kuwahara as reference  # type: ignore[import]

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = torch.ops.art.kuwahara(x, radius)
            return y

    x = np.random.default_rng(1).random(shape, np.float32)
    expected = reference(x.astype(np.float64), radius)
    np.testing.assert_allclose(paint.kuwahara(torch.from_numpy(x), radius), expected, atol=1e-5)
    example = (torch.from_numpy(x),)
    file = spirloom.torch.export(Module(), example, spec_dirs=[EXAMPLE / "op_specs"])
    runtime = spirloom.Runtime(overrides=[outputs[1] / "art/shaders.slpack"])
    (y,) = runtime.load(file)(x)
    np.testing.assert_allclose(y, expected, atol=1e-5)


def test_picture_of_the_examples(
    outputs: tuple[dict[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the documentation is what examples/composite.py draws."""
    monkeypatch.syspath_prepend(MODELS)
    from examples.composite import compose
    from examples.photo.export import write

    write(tmp_path)
    drawn = compose(tmp_path / "photo.slg", outputs[1] / "art/shaders.slpack")
    committed = ROOT / "docs/_static/examples.png"
    assert committed.stat().st_size < 60_000
    found, expected = (
        np.asarray(image.convert("RGB"), np.float32) for image in (drawn, Image.open(committed))
    )
    assert found.shape == expected.shape == (400, 900, 3)
    assert np.abs(found - expected).mean() < 2
