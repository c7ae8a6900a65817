"""Small networks with random weights: modules, arguments and dynamic sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers as hf

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Network:
    """A module and its arguments, bounds of integer inputs, and dynamic dimensions."""

    make: Callable[[], tuple[torch.nn.Module, Tensors]]
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    dynamic: dict[str, dict[int, str]] = field(default_factory=dict)  # input → dim → name


class Named(torch.nn.Module):  # type: ignore[misc]
    """Wraps a model of transformers to return one tensor, `result`."""

    def __init__(self, model: torch.nn.Module, result: str, **fixed: Any) -> None:
        super().__init__()
        self.model = model
        self.result = result
        self.fixed = fixed

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = getattr(self.model(**inputs, **self.fixed), self.result)
        return found


class Positional(torch.nn.Module):  # type: ignore[misc]
    """Wraps a module to accept positional arguments, as dynamic shapes require."""

    def __init__(self, model: torch.nn.Module, names: list[str]) -> None:
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.model(**dict(zip(self.names, args, strict=True)))
        return found


def ids(batch: int, length: int, count: int = 97) -> torch.Tensor:
    return torch.randint(0, count, (batch, length))


def image(size: int = 32, channels: int = 3, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, channels, size, size)


def decoder(config: Any, **inputs: Any) -> tuple[torch.nn.Module, Tensors]:
    model = hf.AutoModelForCausalLM.from_config(config)
    return Named(model, "logits", use_cache=False), {"input_ids": ids(2, 9), **inputs}


SMALL: dict[str, Any] = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48,
         "num_hidden_layers": 2, "num_attention_heads": 4}  # fmt: skip


def llama() -> tuple[torch.nn.Module, Tensors]:
    return decoder(hf.LlamaConfig(**SMALL, num_key_value_heads=2, max_position_embeddings=64))


def qwen() -> tuple[torch.nn.Module, Tensors]:
    return decoder(hf.Qwen2Config(**SMALL, num_key_value_heads=2, max_position_embeddings=64))


def gemma() -> tuple[torch.nn.Module, Tensors]:
    return decoder(
        hf.GemmaConfig(**SMALL, num_key_value_heads=1, head_dim=8, max_position_embeddings=64)
    )


def gpt2() -> tuple[torch.nn.Module, Tensors]:
    return decoder(hf.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64))


def mamba() -> tuple[torch.nn.Module, Tensors]:
    return decoder(
        hf.MambaConfig(vocab_size=97, hidden_size=32, state_size=8, num_hidden_layers=2,
                       time_step_rank=4)
    )  # fmt: skip


def bert() -> tuple[torch.nn.Module, Tensors]:
    model = hf.BertModel(hf.BertConfig(**SMALL, max_position_embeddings=64))
    mask = torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0
    return Named(model, "last_hidden_state"), {"input_ids": ids(2, 9), "attention_mask": mask}


def deberta() -> tuple[torch.nn.Module, Tensors]:
    config = hf.DebertaV2Config(
        **SMALL, max_position_embeddings=64, relative_attention=True, pos_att_type=["p2c", "c2p"]
    )
    model = hf.DebertaV2Model(config)
    mask = torch.ones(2, 9, dtype=torch.int64)
    return Named(model, "last_hidden_state"), {"input_ids": ids(2, 9), "attention_mask": mask}


def t5() -> tuple[torch.nn.Module, Tensors]:
    config = hf.T5Config(vocab_size=97, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    model = hf.T5ForConditionalGeneration(config)
    inputs = {"input_ids": ids(2, 9), "decoder_input_ids": ids(2, 5)}
    return Named(model, "logits", use_cache=False), inputs


def whisper() -> tuple[torch.nn.Module, Tensors]:
    config = hf.WhisperConfig(
        vocab_size=97, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=16,
        max_source_positions=20, max_target_positions=20, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    inputs = {"input_features": torch.randn(2, 16, 40), "decoder_input_ids": ids(2, 5)}
    return Named(hf.WhisperForConditionalGeneration(config), "logits", use_cache=False), inputs


def clip() -> tuple[torch.nn.Module, Tensors]:
    text = {**SMALL, "max_position_embeddings": 20, "eos_token_id": 2}
    vision = {**SMALL, "image_size": 32, "patch_size": 8}
    del vision["vocab_size"]
    config = hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    inputs = {"input_ids": ids(2, 9), "pixel_values": image()}
    return Named(hf.CLIPModel(config), "logits_per_image"), inputs


def segformer() -> tuple[torch.nn.Module, Tensors]:
    config = hf.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], num_attention_heads=[1, 2, 3, 4],
        decoder_hidden_size=24, num_labels=5,
    )  # fmt: skip
    model = hf.SegformerForSemanticSegmentation(config)
    return Named(model, "logits"), {"pixel_values": image(64)}


def wav2vec2() -> tuple[torch.nn.Module, Tensors]:
    config = hf.Wav2Vec2Config(
        **SMALL, conv_dim=(16, 16), conv_kernel=(10, 3), conv_stride=(5, 2),
        num_feat_extract_layers=2, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4,
    )  # fmt: skip
    return Named(hf.Wav2Vec2ForCTC(config), "logits"), {"input_values": torch.randn(2, 400)}


def vision(
    model: torch.nn.Module, size: int = 32, result: str = "logits"
) -> tuple[torch.nn.Module, Tensors]:
    return Named(model, result), {"pixel_values": image(size)}


def resnet() -> tuple[torch.nn.Module, Tensors]:
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24], depths=[1, 2, 1],
                             layer_type="bottleneck", num_labels=7)  # fmt: skip
    return vision(hf.ResNetForImageClassification(config))


def convnext() -> tuple[torch.nn.Module, Tensors]:
    config = hf.ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], num_labels=7)
    return vision(hf.ConvNextForImageClassification(config), 64)


def mobilenet() -> tuple[torch.nn.Module, Tensors]:
    config = hf.MobileNetV2Config(depth_multiplier=0.25, num_labels=7)
    return vision(hf.MobileNetV2ForImageClassification(config), 64)


def regnet() -> tuple[torch.nn.Module, Tensors]:
    config = hf.RegNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1],
                             groups_width=4, num_labels=7)  # fmt: skip
    return vision(hf.RegNetForImageClassification(config), 64)


def swin() -> tuple[torch.nn.Module, Tensors]:
    config = hf.SwinConfig(image_size=32, patch_size=2, embed_dim=8, depths=[1, 2],
                           num_heads=[2, 4], window_size=4, num_labels=7)  # fmt: skip
    return vision(hf.SwinForImageClassification(config))


def vit() -> tuple[torch.nn.Module, Tensors]:
    config = hf.ViTConfig(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2,
                          num_attention_heads=4, intermediate_size=48, num_labels=7)  # fmt: skip
    return vision(hf.ViTForImageClassification(config))


def efficientnet() -> tuple[torch.nn.Module, Tensors]:
    config = hf.EfficientNetConfig(
        image_size=64, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320, num_labels=7
    )
    return vision(hf.EfficientNetForImageClassification(config), 64)


def mobilevit() -> tuple[torch.nn.Module, Tensors]:
    config = hf.MobileViTConfig(
        image_size=64, hidden_sizes=[24, 32, 40], neck_hidden_sizes=[8, 8, 16, 24, 32, 40, 48],
        num_labels=7,
    )  # fmt: skip
    return vision(hf.MobileViTForImageClassification(config), 64)


def rtdetr() -> tuple[torch.nn.Module, Tensors]:
    """RT-DETR selects queries by a top-k of scores, which must differ: with the initial weights of
    transformers they are equal up to rounding, so that the selection would be arbitrary."""
    backbone = hf.RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = hf.RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[16, 24, 32],
        encoder_layers=1, encoder_ffn_dim=48, encoder_attention_heads=4, d_model=32, num_queries=5,
        decoder_in_channels=[32, 32, 32], decoder_ffn_dim=48, decoder_layers=2,
        decoder_attention_heads=4, num_labels=7, num_denoising=0, anchor_image_size=None,
    )  # fmt: skip
    model = hf.RTDetrForObjectDetection(config).requires_grad_(False)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.normal_(std=(2 / weight[0].numel()) ** 0.5)
    for layer in model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.weight.fill_(1)
    return vision(model, 64, "pred_boxes")


TOKENS = {"input_ids": {0: "batch", 1: "seq"}}
IMAGES = {"pixel_values": {0: "batch"}}
NETWORKS: dict[str, Network] = {
    "llama": Network(llama, dynamic=TOKENS),
    "qwen": Network(qwen, dynamic=TOKENS),
    "gemma": Network(gemma, dynamic=TOKENS),
    "bert": Network(bert, {"attention_mask": (0, 1)},
                    {**TOKENS, "attention_mask": {0: "batch", 1: "seq"}}),
    "deberta": Network(deberta, {"attention_mask": (0, 1)}),
    "gpt2": Network(gpt2, dynamic=TOKENS),
    "t5": Network(t5),
    "whisper": Network(whisper),
    "mamba": Network(mamba),
    "clip": Network(clip),
    "segformer": Network(segformer, dynamic=IMAGES),
    "wav2vec2": Network(wav2vec2),
    "resnet": Network(resnet, dynamic=IMAGES),
    "convnext": Network(convnext, dynamic=IMAGES),
    "mobilenet": Network(mobilenet, dynamic=IMAGES),
    "regnet": Network(regnet, dynamic=IMAGES),
    "swin": Network(swin),
    "vit": Network(vit, dynamic=IMAGES),
    "efficientnet": Network(efficientnet, dynamic=IMAGES),
    "mobilevit": Network(mobilevit),
    "rtdetr": Network(rtdetr),
}  # fmt: skip


def make_network(name: str) -> tuple[torch.nn.Module, Tensors]:
    """The module of a network in eval mode, and its arguments; deterministic."""
    return initialized(NETWORKS[name].make, std=0.1)


def initialized(
    make: Callable[[], tuple[torch.nn.Module, Tensors]], std: float
) -> tuple[torch.nn.Module, Tensors]:
    """A module in eval mode, and its arguments; deterministic. Parameters of zeros are random."""
    torch.manual_seed(0)
    module, inputs = make()
    module = module.eval().requires_grad_(False)
    for parameter in module.parameters():
        if not parameter.any():  # zeros would hide errors of all previous layers
            parameter.normal_(std=std)
    return module, inputs
