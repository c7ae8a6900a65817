"""Depth estimation networks of transformers."""

from __future__ import annotations

import transformers as hf

from tests.torch.published.registry import Example, network, vision


@network
def depth_anything() -> Example:
    backbone = hf.Dinov2Config(
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        image_size=56,
        patch_size=14,
        out_indices=[1, 2, 3, 4],
        apply_layernorm=True,
        reshape_hidden_states=False,
    )
    return vision(
        hf.DepthAnythingForDepthEstimation(
            hf.DepthAnythingConfig(
                backbone_config=backbone,
                reassemble_hidden_size=32,
                neck_hidden_sizes=[8, 16, 24, 32],
                fusion_hidden_size=16,
                patch_size=14,
            )
        ),
        56,
        "predicted_depth",
    )


@network
def dpt() -> Example:
    return vision(
        hf.DPTForDepthEstimation(
            hf.DPTConfig(
                hidden_size=32,
                num_hidden_layers=4,
                num_attention_heads=4,
                intermediate_size=48,
                image_size=64,
                patch_size=16,
                backbone_out_indices=[0, 1, 2, 3],
                neck_hidden_sizes=[8, 16, 24, 32],
                fusion_hidden_size=16,
            )
        ),
        64,
        "predicted_depth",
    )


@network
def glpn() -> Example:
    return vision(
        hf.GLPNForDepthEstimation(
            hf.GLPNConfig(
                hidden_sizes=[8, 16, 24, 32],
                depths=[1] * 4,
                num_attention_heads=[1, 2, 3, 4],
                decoder_hidden_size=16,
            )
        ),
        64,
        "predicted_depth",
    )
