"""Object detection and segmentation networks of transformers."""

from __future__ import annotations

import transformers as hf

from tests.torch.networks import SMALL, Named, ids, image
from tests.torch.published.registry import Example, network, vision


@network
def yolos() -> Example:
    return vision(
        hf.YolosForObjectDetection(
            hf.YolosConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                image_size=[64, 64],
                num_detection_tokens=5,
            )
        ),
        64,
        "pred_boxes",
    )


@network
def detr() -> Example:
    backbone = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1] * 4,
        layer_type="basic",
        out_features=["stage4"],
    )
    return vision(
        hf.DetrForObjectDetection(
            hf.DetrConfig(
                use_timm_backbone=False,
                use_pretrained_backbone=False,
                backbone=None,
                backbone_config=backbone,
                d_model=32,
                encoder_layers=1,
                decoder_layers=1,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                num_queries=5,
            )
        ),
        64,
        "pred_boxes",
    )


@network
def deformable_detr() -> Example:
    backbone = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1] * 4,
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    return vision(
        hf.DeformableDetrForObjectDetection(
            hf.DeformableDetrConfig(
                use_timm_backbone=False,
                use_pretrained_backbone=False,
                backbone=None,
                backbone_config=backbone,
                d_model=32,
                encoder_layers=1,
                decoder_layers=1,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                num_queries=5,
                num_feature_levels=3,
                disable_custom_kernels=True,
                with_box_refine=True,
                two_stage=True,
                two_stage_num_proposals=5,
            )
        ),
        64,
        "pred_boxes",
    )


@network
def conditional_detr() -> Example:
    backbone = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1] * 4,
        layer_type="basic",
        out_features=["stage4"],
    )
    return vision(
        hf.ConditionalDetrForObjectDetection(
            hf.ConditionalDetrConfig(
                use_timm_backbone=False,
                use_pretrained_backbone=False,
                backbone=None,
                backbone_config=backbone,
                d_model=32,
                encoder_layers=1,
                decoder_layers=1,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                num_queries=5,
            )
        ),
        64,
        "pred_boxes",
    )


@network
def dfine() -> Example:
    backbone = hf.HGNetV2Config(
        stem_channels=[3, 8, 8],
        stage_in_channels=[8, 16, 24, 32],
        stage_mid_channels=[8, 8, 8, 8],
        stage_out_channels=[16, 24, 32, 32],
        stage_num_blocks=[1] * 4,
        stage_numb_of_layers=[2] * 4,
        embedding_size=8,
        hidden_sizes=[16, 24, 32, 32],
        depths=[1] * 4,
        out_features=["stage2", "stage3", "stage4"],
    )
    return vision(
        hf.DFineForObjectDetection(
            hf.DFineConfig(
                backbone_config=backbone,
                encoder_hidden_dim=32,
                encoder_in_channels=[24, 32, 32],
                encoder_ffn_dim=48,
                encoder_attention_heads=4,
                encoder_layers=1,
                d_model=32,
                num_queries=5,
                decoder_in_channels=[32, 32, 32],
                decoder_ffn_dim=48,
                decoder_layers=2,
                decoder_attention_heads=4,
                num_denoising=0,
                decoder_n_points=[4, 4, 4],
                feat_strides=[8, 16, 32],
            )
        ),
        64,
        "pred_boxes",
    )


@network
def maskformer() -> Example:
    backbone = hf.SwinConfig(
        image_size=64,
        embed_dim=16,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 2, 2],
        window_size=4,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    decoder = hf.DetrConfig(
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        num_queries=5,
    )
    return vision(
        hf.MaskFormerModel(
            hf.MaskFormerConfig(
                backbone_config=backbone,
                decoder_config=decoder,
                fpn_feature_size=32,
                mask_feature_size=32,
            )
        ),
        64,
        "transformer_decoder_last_hidden_state",
    )


@network
def mask2former() -> Example:
    backbone = hf.SwinConfig(
        image_size=64,
        embed_dim=16,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 2, 2],
        window_size=4,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    return vision(
        hf.Mask2FormerModel(
            hf.Mask2FormerConfig(
                backbone_config=backbone,
                feature_size=32,
                mask_feature_size=32,
                hidden_dim=32,
                encoder_feedforward_dim=48,
                encoder_layers=1,
                decoder_layers=2,
                num_attention_heads=4,
                dim_feedforward=48,
                num_queries=5,
            )
        ),
        64,
        "transformer_decoder_last_hidden_state",
        batch=1,
    )


@network
def upernet() -> Example:
    backbone = hf.ConvNextConfig(
        hidden_sizes=[8, 16, 24, 32],
        depths=[1] * 4,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    return vision(
        hf.UperNetForSemanticSegmentation(
            hf.UperNetConfig(
                backbone_config=backbone,
                hidden_size=16,
                auxiliary_in_channels=24,
                auxiliary_channels=8,
            )
        ),
        64,
    )


@network
def owlvit() -> Example:
    text = dict(SMALL, max_position_embeddings=16)
    sight = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": 32,
        "patch_size": 8,
    }
    return Named(
        hf.OwlViTForObjectDetection(
            hf.OwlViTConfig(text_config=text, vision_config=sight, projection_dim=32)
        ),
        "pred_boxes",
    ), {"input_ids": ids(4, 9), "pixel_values": image()}


@network
def deformable_plain() -> Example:
    backbone = hf.ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 24, 32],
        depths=[1] * 4,
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    return vision(
        hf.DeformableDetrModel(
            hf.DeformableDetrConfig(
                use_timm_backbone=False,
                use_pretrained_backbone=False,
                backbone=None,
                backbone_config=backbone,
                d_model=32,
                encoder_layers=1,
                decoder_layers=2,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                num_queries=5,
                num_feature_levels=3,
                disable_custom_kernels=True,
            )
        ),
        64,
        "last_hidden_state",
    )


@network
def grounding_dino() -> Example:
    backbone = hf.SwinConfig(
        image_size=64,
        embed_dim=16,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 2, 2],
        window_size=4,
        out_features=["stage2", "stage3", "stage4"],
    )
    text = hf.BertConfig(**SMALL)
    model = hf.GroundingDinoModel(
        hf.GroundingDinoConfig(
            backbone_config=backbone,
            text_config=text,
            use_timm_backbone=False,
            use_pretrained_backbone=False,
            backbone=None,
            d_model=32,
            encoder_layers=1,
            decoder_layers=2,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            num_queries=5,
            num_feature_levels=3,
            disable_custom_kernels=True,
            max_text_len=16,
        )
    )
    return Named(model, "last_hidden_state"), {
        "pixel_values": image(64, batch=1),
        "input_ids": ids(1, 9),
    }
