"""A causal transformer encoder with padding mask, and input sentences."""

from __future__ import annotations

import torch
from torch import nn

VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS, CLASSES = 200, 24, 64, 4, 3, 10


class Encoder(nn.Module):  # type: ignore[misc]
    """Token and position embeddings, encoder layers, and logits per token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 160, dropout=0.0, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, CLASSES)
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        self.register_buffer("causal", mask)

    def forward(self, tokens: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        """`padding` is true behind the end of a sentence."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        y = self.encoder(x.transpose(0, 1), self.causal, padding)
        logits: torch.Tensor = self.head(y.transpose(0, 1))
        return logits


def make_transformer(
    batch: int, generator: torch.Generator
) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """The encoder in evaluation mode and sentences of different lengths."""
    network = Encoder().eval()
    with torch.no_grad():  # PyTorch initializes all layers equally and biases to zero
        for name, parameter in network.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 2:
                scale = (
                    1.0 if "tokens" in name or "positions" in name else parameter.shape[1] ** -0.5
                )
                parameter.copy_(scale * noise)
            else:
                parameter.add_(0.1 * noise)
    tokens = torch.randint(0, VOCABULARY, (batch, LENGTH), generator=generator)
    lengths = torch.tensor([LENGTH - 5 * (i % 3) for i in range(batch)])
    padding = torch.arange(LENGTH) >= lengths[:, None]
    return network, {"tokens": tokens, "padding": padding}
