"""Image and video networks of transformers."""

from __future__ import annotations

import torch
import transformers as hf

from tests.torch.networks import SMALL, Named, ids, image
from tests.torch.published.registry import Example, network, vision


@network
def beit() -> Example:
    return vision(
        hf.BeitForImageClassification(
            hf.BeitConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                image_size=64,
                use_relative_position_bias=True,
            )
        )
    )


@network
def levit() -> Example:
    return vision(
        hf.LevitForImageClassification(
            hf.LevitConfig(
                image_size=64,
                hidden_sizes=[16, 24, 32],
                num_attention_heads=[2, 3, 4],
                depths=[1, 1, 1],
                key_dim=[8, 8, 8],
            )
        )
    )


@network
def pvt_v2() -> Example:
    return vision(
        hf.PvtV2ForImageClassification(
            hf.PvtV2Config(
                hidden_sizes=[8, 16, 24, 32], depths=[1] * 4, num_attention_heads=[1, 2, 3, 4]
            )
        )
    )


@network
def dinov2() -> Example:
    return vision(
        hf.Dinov2Model(
            hf.Dinov2Config(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                image_size=70,
                patch_size=14,
            )
        ),
        56,
        "last_hidden_state",
    )


@network
def dinov3() -> Example:
    return vision(
        hf.DINOv3ViTModel(
            hf.DINOv3ViTConfig(
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=4,
                image_size=64,
                patch_size=16,
            )
        ),
        64,
        "last_hidden_state",
    )


@network
def swinv2() -> Example:
    return vision(
        hf.Swinv2ForImageClassification(
            hf.Swinv2Config(
                image_size=64, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4
            )
        )
    )


@network
def swin2sr() -> Example:
    return vision(
        hf.Swin2SRForImageSuperResolution(
            hf.Swin2SRConfig(
                image_size=16,
                embed_dim=16,
                depths=[2, 2],
                num_heads=[2, 2],
                window_size=4,
                upscale=2,
            )
        ),
        20,
        "reconstruction",
    )


@network
def swiftformer() -> Example:
    return vision(
        hf.SwiftFormerForImageClassification(
            hf.SwiftFormerConfig(image_size=64, depths=[1] * 4, embed_dims=[8, 16, 24, 32])
        )
    )


@network
def mobilevitv2() -> Example:
    return vision(
        hf.MobileViTV2ForImageClassification(
            hf.MobileViTV2Config(width_multiplier=0.25, image_size=64)
        )
    )


@network
def focalnet() -> Example:
    return vision(
        hf.FocalNetForImageClassification(
            hf.FocalNetConfig(
                image_size=64,
                embed_dim=8,
                depths=[1, 1],
                focal_levels=[2, 2],
                focal_windows=[3, 3],
                hidden_sizes=[8, 16],
            )
        )
    )


@network
def poolformer() -> Example:
    return vision(
        hf.PoolFormerForImageClassification(
            hf.PoolFormerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1] * 4)
        )
    )


@network
def hiera() -> Example:
    return vision(
        hf.HieraForImageClassification(
            hf.HieraConfig(
                image_size=[64, 64],
                embed_dim=16,
                depths=[1, 1, 1],
                num_heads=[1, 2, 4],
                masked_unit_size=[4, 4],
                num_query_pool=2,
            )
        )
    )


@network
def convnextv2() -> Example:
    return vision(
        hf.ConvNextV2ForImageClassification(
            hf.ConvNextV2Config(hidden_sizes=[8, 16, 24, 32], depths=[1] * 4)
        )
    )


@network
def videomae() -> Example:
    return Named(
        hf.VideoMAEForVideoClassification(
            hf.VideoMAEConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                image_size=32,
                num_frames=4,
            )
        ),
        "logits",
    ), {"pixel_values": torch.randn(1, 4, 3, 32, 32)}


@network
def timesformer() -> Example:
    return Named(
        hf.TimesformerForVideoClassification(
            hf.TimesformerConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                image_size=32,
                num_frames=4,
            )
        ),
        "logits",
    ), {"pixel_values": torch.randn(1, 4, 3, 32, 32)}


@network
def vivit() -> Example:
    return Named(
        hf.VivitForVideoClassification(
            hf.VivitConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                image_size=32,
                num_frames=4,
                tubelet_size=[2, 16, 16],
            )
        ),
        "logits",
    ), {"pixel_values": torch.randn(1, 4, 3, 32, 32)}


@network
def siglip() -> Example:
    text = dict(SMALL, max_position_embeddings=20)
    sight = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
    }
    return Named(
        hf.SiglipModel(hf.SiglipConfig(text_config=text, vision_config=sight)), "logits_per_image"
    ), {"input_ids": ids(2, 9), "pixel_values": image()}


@network
def blip() -> Example:
    text = dict(SMALL, encoder_hidden_size=32, projection_dim=16)
    sight = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
    }
    return Named(
        hf.BlipForConditionalGeneration(hf.BlipConfig(text_config=text, vision_config=sight)),
        "logits",
    ), {"input_ids": ids(2, 9), "pixel_values": image()}


@network
def layoutlmv3() -> Example:
    return Named(
        hf.LayoutLMv3Model(
            hf.LayoutLMv3Config(
                **SMALL,
                visual_embed=True,
                input_size=64,
                coordinate_size=6,
                shape_size=4,
                max_position_embeddings=40,
            )
        ),
        "last_hidden_state",
    ), {
        "input_ids": ids(1, 9),
        "bbox": ids(1, 36, 90).reshape(1, 9, 4).sort(-1).values,
        "pixel_values": image(64, batch=1),
    }


@network
def textnet() -> Example:
    return Named(
        hf.TextNetForImageClassification(hf.TextNetConfig(image_size=[64, 64])), "logits"
    ), {"pixel_values": image(64)}


@network
def vjepa2() -> Example:
    return Named(
        hf.VJEPA2Model(
            hf.VJEPA2Config(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                crop_size=32,
                patch_size=8,
                frames_per_clip=4,
                pred_hidden_size=24,
                pred_num_hidden_layers=1,
                pred_num_attention_heads=2,
                mlp_ratio=2.0,
            )
        ),
        "last_hidden_state",
        skip_predictor=True,
    ), {"pixel_values_videos": torch.randn(1, 4, 3, 32, 32)}
