"""Exports an ExecuTorch program (.pte) with two Spirloom delegates and a node between them.

    python examples/executorch/export.py DIRECTORY

writes DIRECTORY/net.pte, an input, x.bin, and PyTorch's output for it, y.bin.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from executorch.exir import to_edge_transform_and_lower
from spirloom.executorch import SpirloomPartitioner


class Net(torch.nn.Module):  # type: ignore[misc]
    """Classifies the pairwise distances of image features."""

    def __init__(self) -> None:
        super().__init__()
        self.describe = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
            torch.nn.Linear(8 * 8 * 8, 16),
        )  # fmt: skip
        self.judge = torch.nn.Linear(6, 3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        distances = torch.pdist(self.describe(images))  # computed by ExecuTorch's kernel
        return torch.softmax(self.judge(distances), -1)


def main(directory: Path) -> None:
    torch.manual_seed(0)
    net, images = Net().eval(), torch.randn(4, 1, 8, 8)
    exported = torch.export.export(net, (images,))
    edge = to_edge_transform_and_lower(exported, partitioner=[SpirloomPartitioner()])
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "net.pte").write_bytes(edge.to_executorch().buffer)
    (directory / "x.bin").write_bytes(images.numpy().tobytes())
    with torch.no_grad():
        (directory / "y.bin").write_bytes(net(images).numpy().tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
