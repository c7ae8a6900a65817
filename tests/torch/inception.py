"""InceptionV3 (arXiv:1512.00567) without the auxiliary classifier, with 1000 classes."""

from __future__ import annotations

import torch
from torch.nn import functional

Size = int | tuple[int, int]


class Conv(torch.nn.Module):  # type: ignore[misc]
    """Convolution, batch norm, ReLU."""

    def __init__(
        self, inputs: int, outputs: int, kernel: Size, stride: int = 1, padding: Size = 0
    ) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)
        self.norm = torch.nn.BatchNorm2d(outputs, eps=1e-3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = functional.relu(self.norm(self.conv(x)))
        return y


class Pool(torch.nn.Module):  # type: ignore[misc]
    """The average of 3 x 3 elements, of the same size, or the maximum, of half the size."""

    def __init__(self, average: bool) -> None:
        super().__init__()
        self.average = average

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.average:
            x = functional.avg_pool2d(x, 3, stride=1, padding=1)
        else:
            x = functional.max_pool2d(x, 3, stride=2)
        return x


class Branches(torch.nn.Module):  # type: ignore[misc]
    """Concatenates the results of its modules along channels."""

    def __init__(self, *branches: torch.nn.Module) -> None:
        super().__init__()
        self.branches = torch.nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.cat([branch(x) for branch in self.branches], 1)
        return y


def chain(*modules: torch.nn.Module) -> torch.nn.Module:
    return torch.nn.Sequential(*modules)


def inception_a(inputs: int, pooled: int) -> torch.nn.Module:
    return Branches(
        Conv(inputs, 64, 1),
        chain(Conv(inputs, 48, 1), Conv(48, 64, 5, padding=2)),
        chain(Conv(inputs, 64, 1), Conv(64, 96, 3, padding=1), Conv(96, 96, 3, padding=1)),
        chain(Pool(average=True), Conv(inputs, pooled, 1)),
    )


def reduction_a(inputs: int) -> torch.nn.Module:
    return Branches(
        Conv(inputs, 384, 3, stride=2),
        chain(Conv(inputs, 64, 1), Conv(64, 96, 3, padding=1), Conv(96, 96, 3, stride=2)),
        Pool(average=False),
    )


def inception_b(channels: int) -> torch.nn.Module:
    def row(a: int, b: int) -> Conv:
        return Conv(a, b, (1, 7), padding=(0, 3))

    def column(a: int, b: int) -> Conv:
        return Conv(a, b, (7, 1), padding=(3, 0))

    c = channels
    return Branches(
        Conv(768, 192, 1),
        chain(Conv(768, c, 1), row(c, c), column(c, 192)),
        chain(Conv(768, c, 1), column(c, c), row(c, c), column(c, c), row(c, 192)),
        chain(Pool(average=True), Conv(768, 192, 1)),
    )


def reduction_b() -> torch.nn.Module:
    return Branches(
        chain(Conv(768, 192, 1), Conv(192, 320, 3, stride=2)),
        chain(
            Conv(768, 192, 1),
            Conv(192, 192, (1, 7), padding=(0, 3)),
            Conv(192, 192, (7, 1), padding=(3, 0)),
            Conv(192, 192, 3, stride=2),
        ),
        Pool(average=False),
    )


def inception_c(inputs: int) -> torch.nn.Module:
    def split() -> torch.nn.Module:
        return Branches(
            Conv(384, 384, (1, 3), padding=(0, 1)), Conv(384, 384, (3, 1), padding=(1, 0))
        )

    return Branches(
        Conv(inputs, 320, 1),
        chain(Conv(inputs, 384, 1), split()),
        chain(Conv(inputs, 448, 1), Conv(448, 384, 3, padding=1), split()),
        chain(Pool(average=True), Conv(inputs, 192, 1)),
    )


class InceptionV3(torch.nn.Module):  # type: ignore[misc]
    """Images of at least 75 x 75 to scores of 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.features = chain(
            Conv(3, 32, 3, stride=2), Conv(32, 32, 3), Conv(32, 64, 3, padding=1),
            Pool(average=False), Conv(64, 80, 1), Conv(80, 192, 3), Pool(average=False),
            inception_a(192, 32), inception_a(256, 64), inception_a(288, 64),
            reduction_a(288),
            inception_b(128), inception_b(160), inception_b(160), inception_b(192),
            reduction_b(),
            inception_c(1280), inception_c(2048),
        )  # fmt: skip
        self.classifier = torch.nn.Linear(2048, 1000)
        for module in self.modules():
            if isinstance(module, torch.nn.Conv2d):  # keep the scale of activations
                torch.nn.init.kaiming_normal_(module.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = functional.adaptive_avg_pool2d(self.features(x), 1)
        scores: torch.Tensor = self.classifier(torch.flatten(pooled, 1))
        return scores
