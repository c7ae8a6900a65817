"""Speech and audio networks of transformers."""

from __future__ import annotations

from typing import Any

import torch
import transformers as hf

from tests.torch.networks import SMALL, Named, ids
from tests.torch.published.registry import Example, calling, network


@network
def hubert() -> Example:
    return Named(
        hf.HubertModel(
            hf.HubertConfig(
                **SMALL,
                conv_dim=(16, 16),
                conv_stride=(5, 2),
                conv_kernel=(10, 3),
                num_conv_pos_embeddings=8,
                num_conv_pos_embedding_groups=4,
            )
        ),
        "last_hidden_state",
    ), {"input_values": torch.randn(2, 400)}


@network
def wavlm() -> Example:
    return Named(
        hf.WavLMModel(
            hf.WavLMConfig(
                **SMALL,
                conv_dim=(16, 16),
                conv_stride=(5, 2),
                conv_kernel=(10, 3),
                num_conv_pos_embeddings=8,
                num_conv_pos_embedding_groups=4,
            )
        ),
        "last_hidden_state",
    ), {"input_values": torch.randn(2, 400)}


@network
def conformer() -> Example:
    return Named(
        hf.Wav2Vec2ConformerModel(
            hf.Wav2Vec2ConformerConfig(
                **SMALL,
                conv_dim=(16, 16),
                conv_stride=(5, 2),
                conv_kernel=(10, 3),
                num_conv_pos_embeddings=8,
                num_conv_pos_embedding_groups=4,
                position_embeddings_type="relative",
            )
        ),
        "last_hidden_state",
    ), {"input_values": torch.randn(2, 400)}


@network
def dac() -> Example:
    model = hf.DacModel(
        hf.DacConfig(
            encoder_hidden_size=8,
            downsampling_ratios=[2, 4],
            decoder_hidden_size=32,
            n_codebooks=2,
            codebook_size=16,
            codebook_dim=4,
        )
    )
    return Named(model, "audio_values"), {"input_values": torch.randn(1, 1, 320)}


@network
def ast() -> Example:
    return Named(
        hf.ASTModel(
            hf.ASTConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                max_length=64,
                num_mel_bins=32,
            )
        ),
        "last_hidden_state",
    ), {"input_values": torch.randn(1, 64, 32)}


@network
def moonshine() -> Example:
    return Named(
        hf.MoonshineModel(
            hf.MoonshineConfig(
                vocab_size=97,
                hidden_size=32,
                intermediate_size=48,
                encoder_num_hidden_layers=2,
                decoder_num_hidden_layers=2,
                encoder_num_attention_heads=4,
                decoder_num_attention_heads=4,
            )
        ),
        "last_hidden_state",
        use_cache=False,
    ), {"input_values": torch.randn(1, 4000), "decoder_input_ids": ids(1, 5)}


@network
def univnet() -> Example:
    return Named(
        hf.UnivNetModel(
            hf.UnivNetConfig(
                model_in_channels=8,
                model_hidden_channels=8,
                num_mel_bins=16,
                kernel_predictor_hidden_channels=8,
            )
        ),
        "waveforms",
    ), {"input_features": torch.randn(1, 10, 16), "noise_sequence": torch.randn(1, 10, 8)}


@network
def vits() -> Example:
    config = hf.VitsConfig(
        vocab_size=97, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=24,
        flow_size=16, spectrogram_bins=33, use_stochastic_duration_prediction=False,
        upsample_initial_channel=32, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]], wavenet_dilation_rate=1,
        prior_encoder_num_flows=2, posterior_encoder_num_wavenet_layers=2,
        prior_encoder_num_wavenet_layers=2, duration_predictor_filter_channels=16,
    )  # fmt: skip

    def speak(model: Any, input_ids: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        text = model.text_encoder(input_ids, padding_mask=torch.ones(1, 9, 1), attention_mask=None)
        latent = noise + text.prior_means.transpose(1, 2)
        return model.decoder(model.flow(latent, torch.ones(1, 1, 9), reverse=True))

    return calling(hf.VitsModel(config), speak), {
        "input_ids": ids(1, 9),
        "noise": torch.randn(1, 16, 9),
    }


@network
def speecht5_vocoder() -> Example:
    config = hf.SpeechT5HifiGanConfig(
        model_in_dim=16, upsample_initial_channel=32, upsample_rates=[4, 4],
        upsample_kernel_sizes=[8, 8], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
    )  # fmt: skip
    return hf.SpeechT5HifiGan(config), {"spectrogram": torch.randn(1, 12, 16)}


@network
def clap() -> Example:
    model = hf.ClapAudioModel(
        hf.ClapAudioConfig(
            window_size=4,
            num_mel_bins=16,
            spec_size=64,
            patch_size=4,
            patch_stride=[4, 4],
            hidden_size=64,
            patch_embeds_hidden_size=16,
            projection_dim=16,
            depths=[1, 1],
            num_attention_heads=[2, 4],
            num_classes=7,
            enable_fusion=False,
        )
    )
    return Named(model, "pooler_output"), {"input_features": torch.randn(1, 1, 250, 16)}


@network
def mimi() -> Example:
    model = hf.MimiModel(
        hf.MimiConfig(
            hidden_size=32,
            num_filters=4,
            upsampling_ratios=[4, 2],
            codebook_size=16,
            codebook_dim=8,
            num_quantizers=3,
            num_semantic_quantizers=1,
            vector_quantization_hidden_dimension=8,
            upsample_groups=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            head_dim=8,
            intermediate_size=48,
            sliding_window=8,
        )
    )

    def decoded(model: Any, audio_codes: torch.Tensor) -> torch.Tensor:
        return model.decode(audio_codes).audio_values

    return calling(model, decoded), {"audio_codes": ids(1, 18, 16).reshape(1, 3, 6)}
