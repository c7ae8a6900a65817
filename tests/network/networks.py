"""torchvision's classification networks with seeded random weights, and input images."""

from __future__ import annotations

import torch
import torchvision
from torch import nn

CALIBRATION_BATCH = 4


def image_size(name: str) -> int:
    return 299 if name == "inception_v3" else 224


def randomize_norms(network: nn.Module, images: torch.Tensor, generator: torch.Generator) -> None:
    """Sets random scales, shifts, means and variances of all batch norms.

    Means and variances are close to those of the activations; otherwise activations would vanish or
    overflow after a few dozen layers.
    """

    def uniform(like: torch.Tensor, low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(like.shape, generator=generator)

    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.weight.copy_(uniform(norm.weight, 0.7, 1.3))
        norm.bias.copy_(uniform(norm.bias, -0.2, 0.2))
        norm.reset_running_stats()
        norm.momentum = 1.0  # uses the statistics of the single batch below
        norm.train()
    network(images)
    for norm in norms:
        mean, variance = norm.running_mean, norm.running_var
        assert mean is not None and variance is not None
        mean.add_(variance.sqrt() * uniform(mean, -0.2, 0.2))
        variance.mul_(uniform(variance, 0.7, 1.4))
    network.eval()


def revive_zeros(network: nn.Module, generator: torch.Generator) -> None:
    """Sets parameters near zero to random values, so that errors of earlier layers are visible.

    These are layers initialized to zero, such as ViT's head, and ConvNeXt's layer scales of 1e-6.
    """
    for name, parameter in network.named_parameters():
        if parameter.dim() > 1 and float(parameter.abs().max()) < 1e-3:
            scale = 1.0 if name.endswith("layer_scale") else parameter[0].numel() ** -0.5
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))


def make_torchvision(
    name: str, batch: int, generator: torch.Generator
) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """A network in evaluation mode and a batch of images."""
    options = {"googlenet": {"aux_logits": False, "init_weights": False}}
    options["inception_v3"] = {"aux_logits": False, "init_weights": False}
    network: nn.Module = torchvision.models.get_model(name, weights=None, **options.get(name, {}))
    network.eval()
    size = image_size(name)
    with torch.no_grad():
        revive_zeros(network, generator)
        calibration = torch.randn((CALIBRATION_BATCH, 3, size, size), generator=generator)
        randomize_norms(network, calibration, generator)
    return network, {"image": torch.randn((batch, 3, size, size), generator=generator)}
