"""The networks of ExecuTorch's Vulkan pages, with random weights: MobileNetV2 and InceptionV3.

`scale` divides the number of channels; 1 is the published network.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Conv(nn.Sequential):  # type: ignore[misc]
    """A convolution without bias, batch norm and an activation."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: int | tuple[int, int] = 3,
        stride: int = 1,
        padding: int | tuple[int, int] = 0,
        groups: int = 1,
        activation: type[nn.Module] | None = nn.ReLU,
    ) -> None:
        norm = nn.BatchNorm2d(outputs, eps=1e-3)
        nn.init.uniform_(norm.running_var, 0.5, 1.5)
        nn.init.normal_(norm.running_mean, std=0.1)
        conv = nn.Conv2d(inputs, outputs, size, stride, padding, groups=groups, bias=False)
        super().__init__(conv, norm, *([] if activation is None else [activation()]))


class InvertedResidual(nn.Module):  # type: ignore[misc]
    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        expand = [Conv(inputs, hidden, 1, activation=nn.ReLU6)] if expansion > 1 else []
        self.layers = nn.Sequential(
            *expand,
            Conv(hidden, hidden, 3, stride, 1, groups=hidden, activation=nn.ReLU6),
            Conv(hidden, outputs, 1, activation=None),
        )
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return x + y if self.is_residual else y


class MobileNetV2(nn.Module):  # type: ignore[misc]
    """As torchvision.models.mobilenet_v2, for images of 224 × 224."""

    def __init__(self, scale: int = 1, classes: int = 1000) -> None:
        super().__init__()
        width = 32 // scale
        layers: list[nn.Module] = [Conv(3, width, 3, 2, 1, activation=nn.ReLU6)]
        for expansion, channels, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1),
        ):  # fmt: skip
            for i in range(count):
                made = InvertedResidual(
                    width, channels // scale, stride if i == 0 else 1, expansion
                )
                width = channels // scale
                layers.append(made)
        layers.append(Conv(width, 1280 // scale, 1, activation=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280 // scale, classes))

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        y: Tensor = self.classifier(torch.flatten(x, 1))
        return y


class Branches(nn.Module):  # type: ignore[misc]
    """Concatenates the results of branches."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class InceptionV3(nn.Module):  # type: ignore[misc]
    """As torchvision.models.inception_v3 in inference, for images of 299 × 299."""

    def __init__(self, scale: int = 1, classes: int = 1000) -> None:
        super().__init__()

        def conv(inputs: int, outputs: int, *rest: object, **more: object) -> Conv:
            inputs = inputs if inputs == 3 else inputs // scale
            return Conv(inputs, outputs // scale, *rest, **more)  # type: ignore[arg-type]

        def pooled(inputs: int, outputs: int) -> nn.Module:
            return nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(inputs, outputs, 1))

        def a(inputs: int, pool: int) -> nn.Module:
            return Branches(
                conv(inputs, 64, 1),
                nn.Sequential(conv(inputs, 48, 1), conv(48, 64, 5, padding=2)),
                nn.Sequential(
                    conv(inputs, 64, 1), conv(64, 96, 3, padding=1), conv(96, 96, 3, padding=1)
                ),
                pooled(inputs, pool),
            )

        def b(inputs: int) -> nn.Module:
            return Branches(
                conv(inputs, 384, 3, 2),
                nn.Sequential(conv(inputs, 64, 1), conv(64, 96, 3, padding=1), conv(96, 96, 3, 2)),
                nn.MaxPool2d(3, 2),
            )

        def c(hidden: int) -> nn.Module:
            row, column = {"padding": (0, 3)}, {"padding": (3, 0)}
            return Branches(
                conv(768, 192, 1),
                nn.Sequential(
                    conv(768, hidden, 1),
                    conv(hidden, hidden, (1, 7), **row),
                    conv(hidden, 192, (7, 1), **column),
                ),
                nn.Sequential(
                    conv(768, hidden, 1),
                    conv(hidden, hidden, (7, 1), **column),
                    conv(hidden, hidden, (1, 7), **row),
                    conv(hidden, hidden, (7, 1), **column),
                    conv(hidden, 192, (1, 7), **row),
                ),
                pooled(768, 192),
            )

        def d() -> nn.Module:
            return Branches(
                nn.Sequential(conv(768, 192, 1), conv(192, 320, 3, 2)),
                nn.Sequential(
                    conv(768, 192, 1),
                    conv(192, 192, (1, 7), padding=(0, 3)),
                    conv(192, 192, (7, 1), padding=(3, 0)),
                    conv(192, 192, 3, 2),
                ),
                nn.MaxPool2d(3, 2),
            )

        def e(inputs: int) -> nn.Module:
            def pair() -> nn.Module:
                return Branches(
                    conv(384, 384, (1, 3), padding=(0, 1)), conv(384, 384, (3, 1), padding=(1, 0))
                )

            return Branches(
                conv(inputs, 320, 1),
                nn.Sequential(conv(inputs, 384, 1), pair()),
                nn.Sequential(conv(inputs, 448, 1), conv(448, 384, 3, padding=1), pair()),
                pooled(inputs, 192),
            )

        self.layers = nn.Sequential(
            conv(3, 32, 3, 2), conv(32, 32), conv(32, 64, 3, padding=1), nn.MaxPool2d(3, 2),
            conv(64, 80, 1), conv(80, 192), nn.MaxPool2d(3, 2),
            a(192, 32), a(256, 64), a(288, 64), b(288), c(128), c(160), c(160), c(192), d(),
            e(1280), e(2048),
        )  # fmt: skip
        self.last = nn.Linear(2048 // scale, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.layers(x), (1, 1))
        y: Tensor = self.last(torch.flatten(x, 1))
        return y
