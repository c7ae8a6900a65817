"""Networks of diffusers."""

from __future__ import annotations

from typing import Any

import diffusers  # type: ignore[import]
import torch

from tests.torch.published.registry import Example, calling, network
from tests.torch.real_networks import First


@network
def sdxl_unet() -> Example:
    model = diffusers.UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(32, 64),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        layers_per_block=2,
        attention_head_dim=(2, 4),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 2),
        projection_class_embeddings_input_dim=80,
        cross_attention_dim=64,
    )

    def noise(model: Any, text_embeds: Any, time_ids: Any, **inputs: Any) -> torch.Tensor:
        added = {"text_embeds": text_embeds, "time_ids": time_ids}
        return model(**inputs, added_cond_kwargs=added, return_dict=False)[0]

    return calling(model, noise), {
        "sample": torch.randn(2, 4, 16, 16), "timestep": torch.tensor([500.0]),
        "encoder_hidden_states": torch.randn(2, 9, 64), "text_embeds": torch.randn(2, 32),
        "time_ids": torch.rand(2, 6) * 100,
    }  # fmt: skip


@network
def dit() -> Example:
    model = diffusers.DiTTransformer2DModel(
        num_attention_heads=4, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=16,
        patch_size=2, num_embeds_ada_norm=10, out_channels=8,
    )  # fmt: skip
    inputs = {"hidden_states": torch.randn(2, 4, 16, 16), "timestep": torch.tensor([5, 700])}
    return First(model, return_dict=False), {**inputs, "class_labels": torch.tensor([1, 7])}


@network
def sd3() -> Example:
    model = diffusers.SD3Transformer2DModel(
        sample_size=16,
        patch_size=2,
        in_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=4,
        joint_attention_dim=32,
        caption_projection_dim=32,
        pooled_projection_dim=64,
        out_channels=4,
        pos_embed_max_size=16,
    )
    return First(model, return_dict=False), {
        "hidden_states": torch.randn(2, 4, 16, 16),
        "encoder_hidden_states": torch.randn(2, 9, 32),
        "pooled_projections": torch.randn(2, 64),
        "timestep": torch.tensor([500.0, 100.0]),
    }


@network
def flux() -> Example:
    model = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8),
    )
    return First(model, return_dict=False), {
        "hidden_states": torch.randn(1, 16, 4),
        "encoder_hidden_states": torch.randn(1, 9, 32),
        "pooled_projections": torch.randn(1, 32),
        "timestep": torch.tensor([1.0]),
        "img_ids": torch.rand(16, 3) * 8 // 1,
        "txt_ids": torch.zeros(9, 3),
    }


@network
def vqgan() -> Example:
    model = diffusers.VQModel(
        block_out_channels=(16, 32),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=3,
        num_vq_embeddings=16,
        norm_num_groups=8,
    )
    return First(model, return_dict=False), {"sample": torch.randn(1, 3, 16, 16)}


@network
def video_unet() -> Example:
    model = diffusers.UNet3DConditionModel(
        sample_size=8,
        block_out_channels=(16, 32),
        norm_num_groups=8,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
        cross_attention_dim=16,
        attention_head_dim=8,
        layers_per_block=1,
    )
    return First(model, return_dict=False), {
        "sample": torch.randn(1, 4, 3, 8, 8),
        "timestep": torch.tensor([10.0]),
        "encoder_hidden_states": torch.randn(1, 5, 16),
    }


@network
def vae_encoder() -> Example:
    model = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        block_out_channels=(16, 32),
        norm_num_groups=8,
    )

    def encoded(model: Any, sample: torch.Tensor) -> torch.Tensor:
        return model.encode(sample).latent_dist.mode()

    return calling(model, encoded), {"sample": torch.randn(1, 3, 32, 32)}


@network
def tiny_vae() -> Example:
    return First(
        diffusers.AutoencoderTiny(
            encoder_block_out_channels=(16, 16, 16, 16), decoder_block_out_channels=(16, 16, 16, 16)
        ),
        return_dict=False,
    ), {"sample": torch.randn(1, 3, 32, 32)}


@network
def controlnet() -> Example:
    model = diffusers.ControlNetModel(
        block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=4,
        norm_num_groups=8,
        layers_per_block=1,
        conditioning_embedding_out_channels=(8, 16),
    )

    def middle(model: Any, **inputs: torch.Tensor) -> torch.Tensor:
        return model(**inputs, return_dict=False)[1]

    return calling(model, middle), {
        "sample": torch.randn(1, 4, 16, 16), "timestep": torch.tensor([10.0]),
        "encoder_hidden_states": torch.randn(1, 5, 16), "controlnet_cond": torch.rand(1, 3, 32, 32),
    }  # fmt: skip


@network
def sana() -> Example:
    model = diffusers.SanaTransformer2DModel(
        in_channels=4,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        num_cross_attention_heads=2,
        cross_attention_head_dim=16,
        cross_attention_dim=32,
        caption_channels=24,
        mlp_ratio=2.0,
        sample_size=8,
    )
    return First(model, return_dict=False), {
        "hidden_states": torch.randn(1, 4, 8, 8),
        "encoder_hidden_states": torch.randn(1, 5, 24),
        "timestep": torch.tensor([10.0]),
    }
