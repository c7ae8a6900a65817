"""Encoders, encoder-decoders and time series models of transformers."""

from __future__ import annotations

import torch
import transformers as hf

from tests.torch.networks import SMALL, Named, ids
from tests.torch.published.registry import Example, encoder, network


@network
def xlnet() -> Example:
    return Named(
        hf.XLNetModel(hf.XLNetConfig(vocab_size=97, d_model=32, n_layer=2, n_head=4, d_inner=48)),
        "last_hidden_state",
    ), {"input_ids": ids(2, 9)}


@network
def bart() -> Example:
    return Named(
        hf.BartModel(
            hf.BartConfig(
                vocab_size=97,
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                max_position_embeddings=32,
            )
        ),
        "last_hidden_state",
        use_cache=False,
    ), {"input_ids": ids(2, 9), "decoder_input_ids": ids(2, 5)}


@network
def marian() -> Example:
    return Named(
        hf.MarianModel(
            hf.MarianConfig(
                vocab_size=97,
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                max_position_embeddings=32,
                pad_token_id=96,
            )
        ),
        "last_hidden_state",
        use_cache=False,
    ), {"input_ids": ids(2, 9), "decoder_input_ids": ids(2, 5)}


@network
def bigbird() -> Example:
    return encoder(hf.BigBirdConfig(**SMALL, attention_type="original_full"))


@network
def funnel() -> Example:
    return Named(
        hf.FunnelModel(
            hf.FunnelConfig(
                vocab_size=97,
                d_model=32,
                n_head=4,
                d_head=8,
                d_inner=48,
                block_sizes=[1, 1],
                num_decoder_layers=1,
            )
        ),
        "last_hidden_state",
    ), {"input_ids": ids(2, 9)}


@network
def modernbert() -> Example:
    return encoder(
        hf.ModernBertConfig(**SMALL, pad_token_id=0, local_attention=4, attn_implementation="sdpa")
    )


@network
def electra() -> Example:
    return encoder(hf.ElectraConfig(**SMALL, embedding_size=16))


@network
def albert() -> Example:
    return encoder(hf.AlbertConfig(**SMALL, embedding_size=16))


@network
def mpnet() -> Example:
    return encoder(hf.MPNetConfig(**SMALL))


@network
def mobilebert() -> Example:
    return encoder(
        hf.MobileBertConfig(
            vocab_size=97,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=32,
            embedding_size=16,
            intra_bottleneck_size=16,
        )
    )


@network
def squeezebert() -> Example:
    return encoder(hf.SqueezeBertConfig(**SMALL, embedding_size=32))


@network
def convbert() -> Example:
    return encoder(hf.ConvBertConfig(**SMALL, embedding_size=32))


@network
def deberta_v2() -> Example:
    return encoder(
        hf.DebertaV2Config(
            **SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8
        )
    )


@network
def esm() -> Example:
    return encoder(
        hf.EsmConfig(**SMALL, position_embedding_type="rotary", pad_token_id=1, mask_token_id=2)
    )


@network
def canine() -> Example:
    return Named(
        hf.CanineModel(
            hf.CanineConfig(
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=4,
                intermediate_size=48,
                num_hash_functions=2,
                num_hash_buckets=64,
                local_transformer_stride=8,
                downsampling_rate=2,
            )
        ),
        "last_hidden_state",
    ), {"input_ids": ids(2, 16)}


@network
def perceiver() -> Example:
    from transformers.models.perceiver.modeling_perceiver import PerceiverTextPreprocessor

    c = hf.PerceiverConfig(
        vocab_size=97,
        d_model=32,
        d_latents=24,
        num_latents=6,
        num_self_attends_per_block=2,
        num_self_attention_heads=4,
        num_cross_attention_heads=4,
        max_position_embeddings=16,
    )
    return Named(
        hf.PerceiverModel(c, input_preprocessor=PerceiverTextPreprocessor(c)), "last_hidden_state"
    ), {"inputs": ids(2, 9)}


@network
def patchtst() -> Example:
    return Named(
        hf.PatchTSTForPrediction(
            hf.PatchTSTConfig(
                num_input_channels=2,
                context_length=32,
                patch_length=4,
                patch_stride=4,
                d_model=16,
                num_attention_heads=4,
                num_hidden_layers=2,
                ffn_dim=24,
                prediction_length=8,
                use_cls_token=False,
                loss="mse",
            )
        ),
        "prediction_outputs",
    ), {"past_values": torch.randn(2, 32, 2)}


@network
def tsmixer() -> Example:
    return Named(
        hf.PatchTSMixerForPrediction(
            hf.PatchTSMixerConfig(
                num_input_channels=2,
                context_length=32,
                patch_length=4,
                patch_stride=4,
                d_model=16,
                num_layers=2,
                prediction_length=8,
                loss="mse",
            )
        ),
        "prediction_outputs",
    ), {"past_values": torch.randn(2, 32, 2)}


@network
def decision() -> Example:
    return Named(
        hf.DecisionTransformerModel(
            hf.DecisionTransformerConfig(
                state_dim=5, act_dim=3, hidden_size=32, n_layer=2, n_head=4
            )
        ),
        "action_preds",
    ), {
        "states": torch.randn(1, 6, 5),
        "actions": torch.randn(1, 6, 3),
        "rewards": torch.randn(1, 6, 1),
        "returns_to_go": torch.randn(1, 6, 1),
        "timesteps": torch.arange(6)[None],
        "attention_mask": torch.ones(1, 6),
    }
