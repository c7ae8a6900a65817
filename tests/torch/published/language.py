"""Decoders of transformers: attention, recurrent and state-space layers, mixtures of experts."""

from __future__ import annotations

import transformers as hf

from tests.torch.networks import SMALL
from tests.torch.published.registry import Example, causal, network


@network
def mamba2() -> Example:
    return causal(
        hf.Mamba2Config(
            vocab_size=97,
            hidden_size=32,
            num_hidden_layers=2,
            state_size=16,
            num_heads=8,
            head_dim=8,
            n_groups=2,
            chunk_size=4,
        )
    )


@network
def rwkv() -> Example:
    return causal(
        hf.RwkvConfig(vocab_size=97, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32)
    )


@network
def mixtral() -> Example:
    return causal(hf.MixtralConfig(**SMALL, num_key_value_heads=2, num_local_experts=4))


@network
def qwen2_moe() -> Example:
    return causal(
        hf.Qwen2MoeConfig(
            **SMALL,
            num_key_value_heads=2,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=24,
            shared_expert_intermediate_size=32,
        )
    )


@network
def qwen3_moe() -> Example:
    return causal(
        hf.Qwen3MoeConfig(
            **SMALL,
            num_key_value_heads=2,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=24,
            head_dim=8,
        )
    )


@network
def gpt_oss() -> Example:
    return causal(
        hf.GptOssConfig(
            **SMALL,
            num_key_value_heads=2,
            num_local_experts=4,
            num_experts_per_tok=2,
            head_dim=8,
            sliding_window=4,
        )
    )


@network
def deepseek_v3() -> Example:
    return causal(
        hf.DeepseekV3Config(
            **SMALL,
            num_key_value_heads=4,
            moe_intermediate_size=24,
            n_routed_experts=8,
            num_experts_per_tok=2,
            n_group=2,
            topk_group=1,
            q_lora_rank=16,
            kv_lora_rank=16,
            qk_rope_head_dim=8,
            qk_nope_head_dim=8,
            v_head_dim=8,
            first_k_dense_replace=1,
        )
    )


@network
def olmoe() -> Example:
    return causal(hf.OlmoeConfig(**SMALL, num_experts=4, num_experts_per_tok=2))


@network
def falcon() -> Example:
    return causal(
        hf.FalconConfig(vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
    )


@network
def falcon_alibi() -> Example:
    return causal(
        hf.FalconConfig(
            vocab_size=97, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True
        )
    )


@network
def bloom() -> Example:
    return causal(hf.BloomConfig(vocab_size=97, hidden_size=32, n_layer=2, n_head=4))


@network
def opt() -> Example:
    return causal(
        hf.OPTConfig(
            vocab_size=97,
            hidden_size=32,
            ffn_dim=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            word_embed_proj_dim=32,
            max_position_embeddings=64,
        )
    )


@network
def gptneox() -> Example:
    return causal(hf.GPTNeoXConfig(**SMALL))


@network
def gptj() -> Example:
    return causal(hf.GPTJConfig(vocab_size=97, n_embd=32, n_layer=2, n_head=4, rotary_dim=4))


@network
def codegen() -> Example:
    return causal(hf.CodeGenConfig(vocab_size=97, n_embd=32, n_layer=2, n_head=4, rotary_dim=4))


@network
def stablelm() -> Example:
    return causal(hf.StableLmConfig(**SMALL, num_key_value_heads=4))


@network
def cohere2() -> Example:
    return causal(hf.Cohere2Config(**SMALL, num_key_value_heads=2, sliding_window=4))


@network
def granite_moe() -> Example:
    return causal(
        hf.GraniteMoeConfig(
            **SMALL, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2
        )
    )


@network
def jamba() -> Example:
    return causal(
        hf.JambaConfig(
            **SMALL,
            num_key_value_heads=2,
            num_experts=4,
            attn_layer_period=2,
            attn_layer_offset=1,
            mamba_d_state=8,
            use_mamba_kernels=False,
        )
    )


@network
def recurrent_gemma() -> Example:
    return causal(
        hf.RecurrentGemmaConfig(
            vocab_size=97,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=3,
            num_attention_heads=4,
            lru_width=32,
            attention_window_size=4,
            block_types=["recurrent", "recurrent", "attention"],
        )
    )


@network
def zamba2() -> Example:
    return causal(
        hf.Zamba2Config(
            vocab_size=97,
            hidden_size=32,
            num_hidden_layers=3,
            num_attention_heads=4,
            mamba_d_state=8,
            n_mamba_heads=8,
            mamba_ngroups=1,
            layers_block_type=["mamba", "mamba", "hybrid"],
            hybrid_layer_ids=[2],
            intermediate_size=48,
            use_mem_rope=True,
            chunk_size=4,
            num_mem_blocks=1,
        )
    )


@network
def trocr() -> Example:
    return causal(
        hf.TrOCRConfig(
            vocab_size=97,
            d_model=32,
            decoder_layers=2,
            decoder_attention_heads=4,
            decoder_ffn_dim=48,
            max_position_embeddings=32,
        )
    )


@network
def gemma2() -> Example:
    return causal(
        hf.Gemma2Config(
            **SMALL, num_key_value_heads=2, head_dim=8, sliding_window=4, query_pre_attn_scalar=8
        )
    )


@network
def smollm3() -> Example:
    return causal(
        hf.SmolLM3Config(**SMALL, num_key_value_heads=2, pad_token_id=0, no_rope_layer_interval=2)
    )


@network
def phi3() -> Example:
    return causal(hf.Phi3Config(**SMALL, num_key_value_heads=2, pad_token_id=0))


@network
def glm4() -> Example:
    return causal(hf.Glm4Config(**SMALL, num_key_value_heads=2, head_dim=8, pad_token_id=0))


@network
def llama4() -> Example:
    return causal(
        hf.Llama4TextConfig(
            **{**SMALL, "intermediate_size": 48},
            num_key_value_heads=2,
            head_dim=8,
            num_local_experts=4,
            intermediate_size_mlp=48,
            attention_chunk_size=4,
            pad_token_id=0,
        )
    )


@network
def qwen3_next() -> Example:
    return causal(
        hf.Qwen3NextConfig(
            **SMALL,
            num_key_value_heads=2,
            head_dim=8,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=24,
            shared_expert_intermediate_size=24,
            linear_num_key_heads=2,
            linear_num_value_heads=4,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
        )
    )


@network
def lfm2() -> Example:
    return causal(
        hf.Lfm2Config(
            **SMALL, num_key_value_heads=2, layer_types=["conv", "full_attention"], pad_token_id=0
        )
    )
