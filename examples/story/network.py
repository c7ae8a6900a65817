"""A small Llama network in PyTorch, with the parameter names of Hugging Face."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 1536,
    "hidden_size": 192,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
}
HIDDEN, HEADS, KV_HEADS = (
    CONFIG[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads")
)
HEAD_DIM = CONFIG["head_dim"]


class Norm(nn.Module):  # type: ignore[misc]
    """RMS norm: x / √(mean(x²) + eps) · weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.square().mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean + CONFIG["rms_norm_eps"]) * self.weight


class Attention(nn.Module):  # type: ignore[misc]
    """Causal grouped-query attention with RoPE."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, HEADS * HEAD_DIM, bias=False)
        self.k_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD_DIM, bias=False)
        self.v_proj = nn.Linear(HIDDEN, KV_HEADS * HEAD_DIM, bias=False)
        self.o_proj = nn.Linear(HEADS * HEAD_DIM, HIDDEN, bias=False)

    def forward(self, x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            layer(x).view(batch, length, -1, HEAD_DIM).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, dim=1) for t in (rotated(k, angles), v))
        scores = rotated(q, angles) @ k.transpose(2, 3) / HEAD_DIM**0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(batch, length, -1))


class GatedMlp(nn.Module):  # type: ignore[misc]
    """down(silu(gate(x)) · up(x))."""

    def __init__(self) -> None:
        super().__init__()
        inner = CONFIG["intermediate_size"]
        self.gate_proj = nn.Linear(HIDDEN, inner, bias=False)
        self.up_proj = nn.Linear(HIDDEN, inner, bias=False)
        self.down_proj = nn.Linear(inner, HIDDEN, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):  # type: ignore[misc]
    """A decoder layer: attention and gated MLP, each with pre-norm and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm = Norm()
        self.self_attn = Attention()
        self.post_attention_layernorm = Norm()
        self.mlp = GatedMlp()

    def forward(self, x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        x = x + self.self_attn(self.input_layernorm(x), angles)
        return x + self.mlp(self.post_attention_layernorm(x))


class Network(nn.Module):  # type: ignore[misc]
    """Logits of the next token at each position; the output layer is tied to the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.model = nn.ModuleDict(
            {
                "embed_tokens": nn.Embedding(CONFIG["vocab_size"], HIDDEN),
                "layers": nn.ModuleList(Layer() for _ in range(CONFIG["num_hidden_layers"])),
                "norm": Norm(),
            }
        )
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                onto_sum = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, 0.0, 0.02 if onto_sum else 0.06)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.model["embed_tokens"](tokens)
        exponents = torch.arange(0, HEAD_DIM, 2) / HEAD_DIM
        angles = torch.arange(tokens.shape[1])[:, None] * CONFIG["rope_theta"] ** -exponents
        for layer in self.model["layers"]:
            x = layer(x, angles)
        return self.model["norm"](x) @ self.model["embed_tokens"].weight.T

    def loss(self, pieces: torch.Tensor) -> torch.Tensor:
        """The mean cross entropy of the tokens after the first of each piece."""
        scores = self(pieces[:, :-1])
        return functional.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())


def rotated(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """RoPE of x [batch, head, position, column]; pairs column i with column i + head_dim / 2."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
