"""The published networks of the GPU benchmark: equal to diffusers' and transformers'."""

from __future__ import annotations

from pathlib import Path

import diffusers  # type: ignore[import]
import pytest
import torch
import transformers
from spirloom import graph_file

from benchmarks.gpu.export import graphs
from benchmarks.gpu.published import PUBLISHED, ClipVision, Unet, VaeDecoder

VAE = {"layers_per_block": 2, "latent_channels": 4}


def shapes(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(each.shape) for name, each in module.state_dict().items()}


def decoder_part(autoencoder: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The parameters of the decoder and of the convolution before it."""
    skipped = ("encoder.", "quant_conv.")
    parameters = autoencoder.state_dict()
    return {name: each for name, each in parameters.items() if not name.startswith(skipped)}


def autoencoder(widths: tuple[int, ...]) -> torch.nn.Module:
    down, up = ("DownEncoderBlock2D",) * len(widths), ("UpDecoderBlock2D",) * len(widths)
    return diffusers.AutoencoderKL(
        down_block_types=down, up_block_types=up, block_out_channels=widths, **VAE
    ).eval()


def test_published_sizes() -> None:
    with torch.device("meta"):
        unet = diffusers.UNet2DConditionModel(sample_size=64, cross_attention_dim=768)
        decoder = decoder_part(autoencoder((128, 256, 512, 512)))
        modules = {name: make() for name, (make, _) in PUBLISHED.items()}
    assert shapes(modules["sd15_unet"]) == shapes(unet)
    assert shapes(modules["sd15_vae_decoder"]) == {k: tuple(v.shape) for k, v in decoder.items()}
    count = sum(each.numel() for each in modules["clip_vit_l_14"].parameters())
    assert count == 303_179_776


def test_unet_equals_diffusers(inference: None) -> None:
    widths = (32, 64, 64, 64)
    theirs = diffusers.UNet2DConditionModel(
        sample_size=16, cross_attention_dim=24, block_out_channels=widths, attention_head_dim=4
    ).eval()
    ours = Unet(widths, 4, 24).eval()
    ours.load_state_dict(theirs.state_dict())
    inputs = torch.randn(1, 4, 16, 16), torch.tensor([500.0]), torch.randn(1, 7, 24)
    torch.testing.assert_close(ours(*inputs), theirs(*inputs).sample)


def test_vae_decoder_equals_diffusers(inference: None) -> None:
    theirs = autoencoder((32, 64))
    ours = VaeDecoder((32, 64)).eval()
    ours.load_state_dict(decoder_part(theirs))
    latents = torch.randn(1, 4, 8, 8)
    torch.testing.assert_close(ours(latents), theirs.decode(latents).sample)


def test_clip_equals_transformers(inference: None) -> None:
    config = transformers.CLIPVisionConfig(
        hidden_size=32, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        image_size=28, patch_size=14,
    )  # fmt: skip
    theirs = transformers.CLIPVisionModel(config).eval()
    ours = ClipVision(32, 4, 2, 28).eval()
    renamed = {}
    for name, value in theirs.state_dict().items():
        for old, new in (("vision_model.", ""), ("embeddings.", ""), ("encoder.", ""),
                         ("q_proj", "to_q"), ("k_proj", "to_k"), ("v_proj", "to_v"),
                         ("out_proj", "to_out.0")):  # fmt: skip
            name = name.replace(old, new)
        if name != "position_ids":
            renamed[name] = value
    ours.load_state_dict(renamed)
    image = torch.randn(1, 3, 28, 28)
    torch.testing.assert_close(ours(image), theirs(pixel_values=image).pooler_output)


@pytest.mark.parametrize("fp16", [False, True])
def test_exported_networks_contain_no_weights(fp16: bool, tmp_path: Path) -> None:
    sizes = {"sample": (1, 4, 16, 16), "timestep": (1,), "context": (1, 7, 24)}
    graph = list(graphs(lambda: Unet((32, 64, 64, 64), 4, 24), sizes))[fp16]
    weights = sum(p.numel() for p in Unet((32, 64, 64, 64), 4, 24).parameters())
    path = tmp_path / "unet.slg"
    graph_file.save(graph, path)
    assert path.stat().st_size < weights // 2, "a float has four bytes, or two"
    generated = [node.outputs[0] for node in graph.nodes if node.op == "bench.noise"]
    names = {tensor.name for tensor in generated}
    assert len(names) == len(generated) > 60, "equal weights would be generated once"
    assert sum(tensor.size for tensor in generated) > 0.9 * weights
