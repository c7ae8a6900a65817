"""The networks of the GPU benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """A torchvision network with 224 x 224 images, and its batch size."""

    name: str
    batch: int
    dtypes: tuple[str, ...] = ("f32", "f16")


NETWORKS = (
    Network("mobilenet_v2", 1),
    Network("squeezenet1_1", 1),
    Network("efficientnet_b0", 1),
    Network("resnet18", 1),
    Network("resnet50", 1),
    Network("convnext_tiny", 1),
    Network("vit_b_16", 1),
    Network("mobilenet_v2", 32),
    Network("resnet50", 32),
    Network("vit_b_16", 32),
)

# Those of published.py, in f32 and f16, with batch size 1.
PUBLISHED_NETWORKS = ("sd15_unet", "sd15_vae_decoder", "clip_vit_l_14")
