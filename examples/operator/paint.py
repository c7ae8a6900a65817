"""Paints a photo with a network of convolutions and an operator of its own.

Writes the painting that the device computes, and prints its difference from PyTorch's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import spirloom.torch
import torch
from PIL import Image
from torch.nn import functional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from examples.terminal import show  # noqa: E402


@torch.library.custom_op("art::kuwahara", mutates_args=())  # type: ignore[untyped-decorator]
def kuwahara(x: torch.Tensor, radius: int = 3) -> torch.Tensor:
    """For PyTorch: the quadrants are windows of an average pooling."""
    height, width = x.shape[2:]
    padded = functional.pad(x, [radius] * 4, mode="replicate")
    mean = functional.avg_pool2d(padded, radius + 1, 1)
    squares = functional.avg_pool2d(padded.square(), radius + 1, 1)
    variance = (squares - mean.square()).sum(1, keepdim=True).expand_as(mean)

    def quadrants(values: torch.Tensor) -> torch.Tensor:
        tops = [values[:, :, t : t + height] for t in (0, radius)]
        return torch.stack([top[..., s : s + width] for top in tops for s in (0, radius)])

    return quadrants(mean).gather(0, quadrants(variance).argmin(0)[None])[0]


@kuwahara.register_fake  # type: ignore[untyped-decorator]
def _(x: torch.Tensor, radius: int = 3) -> torch.Tensor:
    return torch.empty_like(x)


class Painter(torch.nn.Module):  # type: ignore[misc]
    """Brush strokes by the operator, and contours by convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.blur = torch.nn.Conv2d(3, 1, 5, padding=2, padding_mode="replicate", bias=False)
        self.edges = torch.nn.Conv2d(1, 1, 3, padding=1, padding_mode="replicate", bias=False)
        weights = torch.tensor([1.0, 4, 6, 4, 1]) / 16
        self.blur.weight.data[:] = weights * weights[:, None] / 3
        self.edges.weight.data[:] = torch.tensor([[-1.0, -1, -1], [-1, 8, -1], [-1, -1, -1]])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        strokes: torch.Tensor = torch.ops.art.kuwahara(x, 4)
        ink = torch.relu(self.edges(self.blur(strokes)))
        return torch.clamp(1.15 * strokes - 2 * ink, 0, 1)


def paint(photo: Image.Image, kernels: Path) -> tuple[Image.Image, float]:
    """The painting of the device, and its mean difference from PyTorch's."""
    pixels = np.asarray(photo.convert("RGB"), np.float32) / 255
    x = torch.from_numpy(pixels).permute(2, 0, 1)[None].contiguous()
    painter = Painter().eval()
    file = spirloom.torch.export(painter, (x,), spec_dirs=[HERE / "op_specs"])
    (y,) = spirloom.Runtime(overrides=[kernels]).load(file)(x)
    with torch.no_grad():
        difference = (y - painter(x)).abs().mean()
    image = (y[0].permute(1, 2, 0) * 255).round().to(torch.uint8)
    return Image.fromarray(image.numpy()), float(difference)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kernels", type=Path, help="the file shaders.slpack of the build")
    parser.add_argument("photo", type=Path)
    parser.add_argument("painting", type=Path, help="the picture to write")
    arguments = parser.parse_args()
    painting, difference = paint(Image.open(arguments.photo), arguments.kernels)
    painting.save(arguments.painting)
    show(painting)
    print(f"mean difference from PyTorch: {difference:.1e}")


if __name__ == "__main__":
    main()
