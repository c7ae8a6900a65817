"""torchvision classification networks with seeded weights, and PyTorch's own answers for them.

Making one costs seconds, so each is kept in a cache folder under a name that tells the versions and
the recipe it came from.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torchvision
from torch import nn

OPSET = 16
LARGEST_BATCH = 3
CALIBRATION_BATCH = 4


@dataclass(frozen=True, slots=True)
class Exported:
    """A network as files.

    The ONNX model has the input `image` and the output `logits`, and leaves the dimension `batch`
    open. The arrays are what PyTorch's CPU run took and gave, for LARGEST_BATCH images.
    """

    onnx: Path
    images: npt.NDArray[np.float32]
    logits: npt.NDArray[np.float32]


def image_size(name: str) -> int:
    return 299 if name == "inception_v3" else 224


def randomise_norms(network: nn.Module, images: torch.Tensor, generator: torch.Generator) -> None:
    """Gives every batch norm its own scale, shift, mean and variance.

    Means and variances are near those of the activations, or they would vanish or overflow after a
    few dozen layers.
    """

    def uniform(like: torch.Tensor, low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(like.shape, generator=generator)

    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.weight.copy_(uniform(norm.weight, 0.7, 1.3))
        norm.bias.copy_(uniform(norm.bias, -0.2, 0.2))
        norm.reset_running_stats()
        norm.momentum = 1.0  # takes the statistics of the one batch below
        norm.train()
    network(images)
    for norm in norms:
        mean, variance = norm.running_mean, norm.running_var
        assert mean is not None and variance is not None
        mean.add_(variance.sqrt() * uniform(mean, -0.2, 0.2))
        variance.mul_(uniform(variance, 0.7, 1.4))
    network.eval()


def revive_zeros(network: nn.Module, generator: torch.Generator) -> None:
    """Gives parameters that would hide what comes before them random values.

    These are layers that start at zero, such as ViT's head, and ConvNeXt's scales of 1e-6.
    """
    for name, parameter in network.named_parameters():
        if parameter.dim() > 1 and float(parameter.abs().max()) < 1e-3:
            scale = 1.0 if name.endswith("layer_scale") else parameter[0].numel() ** -0.5
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))


def make_network(name: str) -> tuple[nn.Module, torch.Tensor]:
    """The network in evaluation mode, and images for it."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    options = {"googlenet": {"aux_logits": False, "init_weights": False}}
    options["inception_v3"] = {"aux_logits": False, "init_weights": False}
    network: nn.Module = torchvision.models.get_model(name, weights=None, **options.get(name, {}))
    network.eval()
    size = image_size(name)
    with torch.no_grad():
        revive_zeros(network, generator)
        calibration = torch.randn((CALIBRATION_BATCH, 3, size, size), generator=generator)
        randomise_norms(network, calibration, generator)
    return network, torch.randn((LARGEST_BATCH, 3, size, size), generator=generator)


def write_network(name: str, folder: Path) -> None:
    network, images = make_network(name)
    with torch.no_grad():
        logits = network(images)
    axes = {"image": {0: "batch"}, "logits": {0: "batch"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            images[:2],
            str(folder / "model.onnx"),
            opset_version=OPSET,
            input_names=["image"],
            output_names=["logits"],
            dynamic_axes=axes,
        )
    np.save(folder / "images.npy", images.numpy())
    np.save(folder / "logits.npy", logits.numpy())


def recipe() -> str:
    parts = (Path(__file__).read_text(), torch.__version__, torchvision.__version__)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def export_network(name: str, cache: Path) -> Exported:
    """The network from the cache; made first if it is not there."""
    folder = cache / f"{name}-{recipe()}"
    if not folder.exists():
        unfinished = folder.with_name(folder.name + ".part")
        unfinished.mkdir(parents=True, exist_ok=True)
        write_network(name, unfinished)
        unfinished.rename(folder)
    return Exported(
        folder / "model.onnx", np.load(folder / "images.npy"), np.load(folder / "logits.npy")
    )
