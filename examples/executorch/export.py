"""Exports a network for ExecuTorch (.pte): two delegates of Spirloom's, and a node between.

    python examples/executorch/export.py FOLDER

writes FOLDER/net.pte, numbers to run it with, x.bin, and what PyTorch makes of them, y.bin.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from executorch.exir import to_edge_transform_and_lower
from spirloom.executorch import SpirloomPartitioner


class Net(torch.nn.Module):  # type: ignore[misc]
    """How far apart descriptions of some images are, and what follows from that."""

    def __init__(self) -> None:
        super().__init__()
        self.describe = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
            torch.nn.Linear(8 * 8 * 8, 16),
        )  # fmt: skip
        self.judge = torch.nn.Linear(6, 3)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        distances = torch.pdist(self.describe(images))  # ExecuTorch's own kernel computes these
        return torch.softmax(self.judge(distances), -1)


def main(folder: Path) -> None:
    torch.manual_seed(0)
    net, images = Net().eval(), torch.randn(4, 1, 8, 8)
    exported = torch.export.export(net, (images,))
    edge = to_edge_transform_and_lower(exported, partitioner=[SpirloomPartitioner()])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "net.pte").write_bytes(edge.to_executorch().buffer)
    (folder / "x.bin").write_bytes(images.numpy().tobytes())
    with torch.no_grad():
        (folder / "y.bin").write_bytes(net(images).numpy().tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
