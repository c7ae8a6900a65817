"""Published architectures at their real sizes, with random weights, for `collect`.

Each function makes a module and its arguments. Weights are not initialized: only the shapes of
calls are recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import diffusers  # type: ignore[import]
import torch
import transformers as hf

Tensors = dict[str, torch.Tensor]
Example = tuple[torch.nn.Module, Tensors]
ARCHITECTURES: dict[str, Callable[[], Example]] = {}
TOKENS = 128


def architecture(make: Callable[[], Example]) -> Callable[[], Example]:
    """Adds an architecture under the name of its function."""
    ARCHITECTURES[make.__name__] = make
    return make


class Result(torch.nn.Module):  # type: ignore[misc]
    """Wraps a model to return one member of its result (None: its first element)."""

    def __init__(self, model: torch.nn.Module, member: str | None, **fixed: Any) -> None:
        super().__init__()
        self.model, self.member, self.fixed = model, member, fixed

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        result = self.model(**inputs, **self.fixed)
        found: torch.Tensor = result[0] if self.member is None else getattr(result, self.member)
        return found


def vision(model: torch.nn.Module, size: int = 224, result: str = "logits") -> Example:
    """A model of one square image."""
    return Result(model, result), {"pixel_values": torch.randn(1, 3, size, size)}


def text(model: torch.nn.Module, length: int = TOKENS) -> Example:
    """An encoder of one text."""
    return Result(model, "last_hidden_state"), {"input_ids": torch.randint(0, 97, (1, length))}


def prompt(model: torch.nn.Module, length: int = 512) -> Example:
    """A language model that reads a prompt."""
    inputs = {"input_ids": torch.randint(0, 97, (1, length))}
    return Result(model, "logits", use_cache=False), inputs


# Classification
@architecture
def resnet50() -> Example:
    return vision(hf.ResNetForImageClassification(hf.ResNetConfig(num_labels=1000)))


@architecture
def mobilenet_v1() -> Example:
    return vision(hf.MobileNetV1ForImageClassification(hf.MobileNetV1Config(num_labels=1000)))


@architecture
def mobilenet_v2() -> Example:
    return vision(hf.MobileNetV2ForImageClassification(hf.MobileNetV2Config(num_labels=1000)))


@architecture
def efficientnet_b7() -> Example:
    model = hf.EfficientNetForImageClassification(hf.EfficientNetConfig(num_labels=1000))
    return vision(model, 600)


@architecture
def regnet_y_040() -> Example:
    return vision(hf.RegNetForImageClassification(hf.RegNetConfig(num_labels=1000)))


@architecture
def convnext_tiny() -> Example:
    return vision(hf.ConvNextForImageClassification(hf.ConvNextConfig(num_labels=1000)))


@architecture
def convnext_v2_tiny() -> Example:
    return vision(hf.ConvNextV2ForImageClassification(hf.ConvNextV2Config(num_labels=1000)))


@architecture
def vit_b_16() -> Example:
    return vision(hf.ViTForImageClassification(hf.ViTConfig(num_labels=1000)))


@architecture
def swin_tiny() -> Example:
    return vision(hf.SwinForImageClassification(hf.SwinConfig(num_labels=1000)))


@architecture
def swin_v2_tiny() -> Example:
    config = hf.Swinv2Config(num_labels=1000, image_size=256, window_size=8)
    return vision(hf.Swinv2ForImageClassification(config), 256)


@architecture
def beit_base() -> Example:
    config = hf.BeitConfig(num_labels=1000, use_relative_position_bias=True)
    return vision(hf.BeitForImageClassification(config))


@architecture
def dinov2_base() -> Example:
    return vision(hf.Dinov2Model(hf.Dinov2Config(image_size=518, patch_size=14)), 518,
                  "last_hidden_state")  # fmt: skip


@architecture
def mobilevit_small() -> Example:
    return vision(hf.MobileViTForImageClassification(hf.MobileViTConfig(num_labels=1000)), 256)


@architecture
def poolformer_s12() -> Example:
    return vision(hf.PoolFormerForImageClassification(hf.PoolFormerConfig(num_labels=1000)))


@architecture
def levit_128s() -> Example:
    return vision(hf.LevitForImageClassification(hf.LevitConfig(num_labels=1000)))


@architecture
def pvt_v2_b0() -> Example:
    return vision(hf.PvtV2ForImageClassification(hf.PvtV2Config(num_labels=1000)))


@architecture
def focalnet_tiny() -> Example:
    return vision(hf.FocalNetForImageClassification(hf.FocalNetConfig(num_labels=1000)))


# Detection, segmentation, depth, superresolution
@architecture
def detr_resnet50() -> Example:
    config = hf.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
        backbone_config=hf.ResNetConfig(out_features=["stage4"]),
    )  # fmt: skip
    return vision(hf.DetrForObjectDetection(config), 800, "pred_boxes")


@architecture
def yolos_small() -> Example:
    config = hf.YolosConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536)
    return vision(hf.YolosForObjectDetection(config), 512, "pred_boxes")


@architecture
def segformer_b0() -> Example:
    return vision(hf.SegformerForSemanticSegmentation(hf.SegformerConfig(num_labels=150)), 512)


@architecture
def upernet_convnext() -> Example:
    stages = ["stage1", "stage2", "stage3", "stage4"]
    backbone = hf.ConvNextConfig(hidden_sizes=[96, 192, 384, 768], out_features=stages)
    config = hf.UperNetConfig(backbone_config=backbone, num_labels=150)
    return vision(hf.UperNetForSemanticSegmentation(config), 512)


@architecture
def sam_vit_b() -> Example:
    return vision(hf.SamVisionModel(hf.SamVisionConfig()), 1024, "last_hidden_state")


@architecture
def dpt_large() -> Example:
    return vision(hf.DPTForDepthEstimation(hf.DPTConfig()), 384, "predicted_depth")


@architecture
def glpn_depth() -> Example:
    return vision(hf.GLPNForDepthEstimation(hf.GLPNConfig()), 480, "predicted_depth")


@architecture
def swin2sr_x2() -> Example:
    return vision(hf.Swin2SRForImageSuperResolution(hf.Swin2SRConfig()), 64, "reconstruction")


# Diffusion
@architecture
def sd15_unet() -> Example:
    model = diffusers.UNet2DConditionModel(sample_size=64, cross_attention_dim=768)
    inputs = {
        "sample": torch.randn(1, 4, 64, 64),
        "timestep": torch.tensor([500.0]),
        "encoder_hidden_states": torch.randn(1, 77, 768),
    }
    return Result(model, None, return_dict=False), inputs


class VaeDecoder(torch.nn.Module):  # type: ignore[misc]
    """The decoder of an autoencoder, with the convolution before it."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.decoder, self.post_quant_conv = model.decoder, model.post_quant_conv

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.decoder(self.post_quant_conv(z))
        return found


@architecture
def sd15_vae_decoder() -> Example:
    model = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4,
        sample_size=512,
    )  # fmt: skip
    return VaeDecoder(model), {"z": torch.randn(1, 4, 64, 64)}


@architecture
def dit_b_2() -> Example:
    model = diffusers.DiTTransformer2DModel(
        num_attention_heads=12, attention_head_dim=64, in_channels=4, out_channels=8,
        num_layers=12, sample_size=32, patch_size=2,
    )  # fmt: skip
    inputs = {
        "hidden_states": torch.randn(1, 4, 32, 32),
        "timestep": torch.tensor([500]),
        "class_labels": torch.tensor([1]),
    }
    return Result(model, None, return_dict=False), inputs


# Speech and audio
@architecture
def whisper_small_encoder() -> Example:
    config = hf.WhisperConfig(
        d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12,
        decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072,
    )  # fmt: skip
    model = hf.WhisperModel(config).get_encoder()
    return Result(model, "last_hidden_state"), {"input_features": torch.randn(1, 80, 3000)}


def waveform(model: torch.nn.Module, seconds: int = 10) -> Example:
    """A model of a waveform at 16 kHz."""
    return Result(model, "last_hidden_state"), {"input_values": torch.randn(1, 16000 * seconds)}


@architecture
def wav2vec2_base() -> Example:
    return waveform(hf.Wav2Vec2Model(hf.Wav2Vec2Config()))


@architecture
def hubert_base() -> Example:
    return waveform(hf.HubertModel(hf.HubertConfig()))


@architecture
def wav2vec2_conformer() -> Example:
    config = hf.Wav2Vec2ConformerConfig(position_embeddings_type="relative")
    return waveform(hf.Wav2Vec2ConformerModel(config))


@architecture
def audio_spectrogram_transformer() -> Example:
    model = hf.ASTForAudioClassification(hf.ASTConfig(num_labels=527))
    return Result(model, "logits"), {"input_values": torch.randn(1, 1024, 128)}


@architecture
def hifi_gan() -> Example:
    model = hf.SpeechT5HifiGan(hf.SpeechT5HifiGanConfig())
    return model, {"spectrogram": torch.randn(200, 80)}


# Text
@architecture
def bert_base() -> Example:
    return text(hf.BertModel(hf.BertConfig()))


@architecture
def deberta_v3_base() -> Example:
    config = hf.DebertaV2Config(
        vocab_size=128100, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
        intermediate_size=3072, relative_attention=True, position_buckets=256, type_vocab_size=0,
        pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
    )  # fmt: skip
    return text(hf.DebertaV2Model(config))


@architecture
def modernbert_base() -> Example:
    return text(hf.ModernBertModel(hf.ModernBertConfig()), 1024)


@architecture
def funnel_small() -> Example:
    return text(hf.FunnelModel(hf.FunnelConfig()))


@architecture
def t5_base() -> Example:
    config = hf.T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12)
    model = hf.T5ForConditionalGeneration(config)
    inputs = {
        "input_ids": torch.randint(0, 97, (1, TOKENS)),
        "decoder_input_ids": torch.randint(0, 97, (1, 32)),
    }
    return Result(model, "logits", use_cache=False), inputs


@architecture
def gpt2() -> Example:
    return prompt(hf.GPT2LMHeadModel(hf.GPT2Config()))


@architecture
def gemma3_1b() -> Example:
    config = hf.Gemma3TextConfig(
        hidden_size=1152, intermediate_size=6912, num_hidden_layers=26, num_attention_heads=4,
        num_key_value_heads=1, head_dim=256, vocab_size=262144,
    )  # fmt: skip
    return prompt(hf.Gemma3ForCausalLM(config))


@architecture
def mamba_130m() -> Example:
    return prompt(hf.MambaForCausalLM(hf.MambaConfig()), 64)


@architecture
def mixture_of_experts() -> Example:
    config = hf.Qwen2MoeConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=4, num_attention_heads=16,
        num_key_value_heads=16, num_experts=16, moe_intermediate_size=704, vocab_size=32000,
        shared_expert_intermediate_size=2816,
    )  # fmt: skip
    return prompt(hf.Qwen2MoeForCausalLM(config), 64)


# Images and text, video, time series, recommendation
@architecture
def clip_vit_l_14() -> Example:
    config = hf.CLIPVisionConfig(
        hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16,
        patch_size=14,
    )  # fmt: skip
    return vision(hf.CLIPVisionModel(config), 224, "last_hidden_state")


@architecture
def videomae_base() -> Example:
    model = hf.VideoMAEForVideoClassification(hf.VideoMAEConfig(num_labels=400))
    return Result(model, "logits"), {"pixel_values": torch.randn(1, 16, 3, 224, 224)}


@architecture
def timesformer_base() -> Example:
    model = hf.TimesformerForVideoClassification(hf.TimesformerConfig(num_labels=400))
    return Result(model, "logits"), {"pixel_values": torch.randn(1, 8, 3, 224, 224)}


class ResNet3d(torch.nn.Module):  # type: ignore[misc]
    """The stem and the basic blocks of the first two stages of a 3-D ResNet-18."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
        self.layers = torch.nn.ModuleList(
            torch.nn.Conv3d(64, 64, 3, padding=1, bias=False) for _ in range(4)
        )
        self.down = torch.nn.Conv3d(64, 128, 3, 2, 1, bias=False)
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm3d(64) for _ in range(4))

    def forward(self, video: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.stem(video))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = torch.relu(x + norm(layer(x)))
        return torch.nn.functional.adaptive_avg_pool3d(torch.relu(self.down(x)), 1)


@architecture
def resnet3d_18() -> Example:
    return ResNet3d(), {"video": torch.randn(1, 3, 16, 112, 112)}


@architecture
def patch_tst() -> Example:
    config = hf.PatchTSTConfig(
        num_input_channels=7, context_length=512, patch_length=16, patch_stride=8,
        prediction_length=96, scaling=None,
    )  # fmt: skip
    model = hf.PatchTSTForPrediction(config)
    return Result(model, "prediction_outputs"), {"past_values": torch.randn(1, 512, 7)}


class Dlrm(torch.nn.Module):  # type: ignore[misc]
    """The deep learning recommendation model (DLRM) of MLPerf, with smaller tables."""

    def __init__(self, tables: int = 26, rows: int = 100_000, width: int = 128) -> None:
        super().__init__()
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables)
        )
        self.bottom = _layers(13, 512, 256, width)
        pairs = (tables + 1) * tables // 2
        self.top = _layers(width + pairs, 1024, 1024, 512, 256, 1)
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        bags = [table.weight[ids[:, i]] for i, table in enumerate(self.tables)]
        features = torch.stack([x, *bags], 1)
        products = features @ features.transpose(1, 2)
        chosen = products[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.top(torch.cat([x, chosen], 1)))


def _layers(*widths: int) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for before, after in pairwise(widths):
        layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


@architecture
def dlrm() -> Example:
    inputs = {"dense": torch.randn(256, 13), "ids": torch.randint(0, 97, (256, 26))}
    return Dlrm(), inputs


class Recurrent(torch.nn.Module):  # type: ignore[misc]
    """A speech encoder of bidirectional LSTM layers over 2-D convolutions (DeepSpeech 2)."""

    def __init__(self) -> None:
        super().__init__()
        self.front = torch.nn.Sequential(
            torch.nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)), torch.nn.Hardtanh(0, 20),
            torch.nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)), torch.nn.Hardtanh(0, 20),
        )  # fmt: skip
        self.lstm = torch.nn.LSTM(1312, 512, 2, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(1024, 29)

    def forward(self, spectrogram: torch.Tensor) -> torch.Tensor:
        x = self.front(spectrogram)
        x = x.flatten(1, 2).transpose(1, 2)
        found: torch.Tensor = self.head(self.lstm(x)[0]).log_softmax(-1)
        return found


@architecture
def deepspeech_2() -> Example:
    return Recurrent(), {"spectrogram": torch.randn(1, 1, 161, 400)}
