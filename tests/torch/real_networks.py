"""Networks with the depth and width of published models, and random weights.

Vocabularies, image sizes and lengths are small, as they add time and no operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import diffusers  # type: ignore[import]
import torch
import transformers as hf

from tests.torch.inception import InceptionV3
from tests.torch.networks import Named, Tensors, ids, image, initialized

VOCABULARY = 1000


@dataclass(frozen=True)
class RealNetwork:
    """A module and its arguments, and the bounds of its integer inputs.

    `torchscript`: whether torch.onnx.export(dynamo=False) supports its operators.
    """

    make: Callable[[], tuple[torch.nn.Module, Tensors]]
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    torchscript: bool = True


class First(torch.nn.Module):  # type: ignore[misc]
    """Wraps a module to return the first tensor of its result, called with `fixed` as well."""

    def __init__(self, model: torch.nn.Module, **fixed: Any) -> None:
        super().__init__()
        self.model = model
        self.fixed = fixed

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.model(**inputs, **self.fixed)[0]
        return found


def llama() -> tuple[torch.nn.Module, Tensors]:
    """Llama 3.2 1B, with half of its width."""
    config = hf.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=1024, intermediate_size=4096, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=131072,
        rope_parameters={
            "rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
        },
    )  # fmt: skip
    return Named(hf.LlamaForCausalLM(config), "logits", use_cache=False), tokens(1, 12)


def tokens(batch: int, length: int) -> Tensors:
    return {"input_ids": ids(batch, length, VOCABULARY)}


def gpt2() -> tuple[torch.nn.Module, Tensors]:
    model = hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=VOCABULARY))
    return Named(model, "logits", use_cache=False), tokens(1, 12)


def bert() -> tuple[torch.nn.Module, Tensors]:
    model = hf.BertModel(hf.BertConfig(vocab_size=VOCABULARY))
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 7:] = 0
    return Named(model, "last_hidden_state"), {**tokens(2, 12), "attention_mask": mask}


def vit() -> tuple[torch.nn.Module, Tensors]:
    """ViT-B/16 on a quarter of the image."""
    config = hf.ViTConfig(image_size=112, num_labels=1000)
    model = hf.ViTForImageClassification(config)
    return Named(model, "logits"), {"pixel_values": image(112, batch=1)}


def t5() -> tuple[torch.nn.Module, Tensors]:
    model = hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=VOCABULARY))  # T5-small
    inputs = {**tokens(1, 12), "decoder_input_ids": ids(1, 5, VOCABULARY)}
    return Named(model, "logits", use_cache=False), inputs


def whisper() -> tuple[torch.nn.Module, Tensors]:
    """Whisper-tiny on 2 seconds."""
    config = hf.WhisperConfig(
        vocab_size=VOCABULARY, d_model=384, encoder_layers=4, decoder_layers=4,
        encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536,
        decoder_ffn_dim=1536, max_source_positions=100, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    inputs = {
        "input_features": torch.randn(1, 80, 200),
        "decoder_input_ids": ids(1, 5, VOCABULARY),
    }
    return Named(hf.WhisperForConditionalGeneration(config), "logits", use_cache=False), inputs


def sam() -> tuple[torch.nn.Module, Tensors]:
    """SAM with the ViT-B encoder, on an image of 128 x 128, and its mask decoder."""
    vision = {"image_size": 128}
    prompt = {"image_size": 128, "image_embedding_size": 8}
    config = hf.SamConfig(vision_config=vision, prompt_encoder_config=prompt)
    inputs = {
        "pixel_values": image(128, batch=1),
        "input_points": torch.tensor([[[[50.0, 40.0], [100.0, 75.0]]]]),
    }
    model = hf.SamModel(config)
    for name, weight in model.named_parameters():
        if name.endswith("positional_embedding"):  # frequencies as in the published weights
            torch.nn.init.normal_(weight)
    return Named(model, "pred_masks", multimask_output=True), inputs


def clip() -> tuple[torch.nn.Module, Tensors]:
    """CLIP ViT-B/32."""
    config = hf.CLIPConfig(text_config={"vocab_size": VOCABULARY, "eos_token_id": VOCABULARY - 1})
    text = ids(2, 12, VOCABULARY - 1)
    text[0, 5] = text[1, 11] = VOCABULARY - 1
    inputs = {"input_ids": text, "pixel_values": image(224, batch=1)}
    return Named(hf.CLIPModel(config), "logits_per_image"), inputs


def swin() -> tuple[torch.nn.Module, Tensors]:
    model = hf.SwinForImageClassification(hf.SwinConfig(num_labels=1000))
    return Named(model, "logits"), {"pixel_values": image(224, batch=1)}


def convnext() -> tuple[torch.nn.Module, Tensors]:
    model = hf.ConvNextForImageClassification(hf.ConvNextConfig(num_labels=1000))
    return Named(model, "logits"), {"pixel_values": image(128, batch=1)}


def inception() -> tuple[torch.nn.Module, Tensors]:
    return InceptionV3(), {"x": image(171, batch=1)}


def unet() -> tuple[torch.nn.Module, Tensors]:
    """The UNet of Stable Diffusion 1.5, with half of its width, on a latent of 16 x 16."""
    model = diffusers.UNet2DConditionModel(
        sample_size=16, block_out_channels=(160, 320, 640, 640), cross_attention_dim=768,
    )  # fmt: skip
    inputs = {
        "sample": torch.randn(1, 4, 16, 16),
        "timestep": torch.tensor([500.0]),
        "encoder_hidden_states": torch.randn(1, 77, 768),
    }
    return First(model, return_dict=False), inputs


def vae() -> tuple[torch.nn.Module, Tensors]:
    """The VAE decoder of Stable Diffusion 1.5, with half of its width, on a latent of 8 x 8."""
    model = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        block_out_channels=(64, 128, 256, 256), layers_per_block=2, latent_channels=4,
        sample_size=64,
    )  # fmt: skip
    return VaeDecoder(model), {"z": torch.randn(1, 4, 8, 8)}


class VaeDecoder(torch.nn.Module):  # type: ignore[misc]
    """The decoder of an autoencoder, with the convolution before it."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.decoder = model.decoder
        self.post_quant_conv = model.post_quant_conv

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.decoder(self.post_quant_conv(z))
        return found


REAL_NETWORKS: dict[str, RealNetwork] = {
    "llama": RealNetwork(llama, torchscript=False),  # lacks aten::diff
    "gpt2": RealNetwork(gpt2, torchscript=False),
    "bert": RealNetwork(bert, {"attention_mask": (0, 1)}),
    "vit": RealNetwork(vit),
    "t5": RealNetwork(t5),
    "whisper": RealNetwork(whisper),
    "sam": RealNetwork(sam),
    "clip": RealNetwork(clip),
    "swin": RealNetwork(swin),
    "convnext": RealNetwork(convnext),
    "inception": RealNetwork(inception),
    "unet": RealNetwork(unet),
    "vae": RealNetwork(vae),
}


def make_real_network(name: str) -> tuple[torch.nn.Module, Tensors]:
    """The module of a network in eval mode, and its arguments; deterministic."""
    return initialized(REAL_NETWORKS[name].make, std=0.02)
