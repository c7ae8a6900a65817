"""The table of published architectures, and helpers that make modules of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf

from tests.torch.networks import Named, Tensors, ids, image

# A module and its arguments.
Example = tuple[torch.nn.Module, Tensors]
PUBLISHED: dict[str, Callable[[], Example]] = {}


def network(make: Callable[[], Example]) -> Callable[[], Example]:
    """Adds an architecture under the name of its function."""
    PUBLISHED[make.__name__] = make
    return make


def causal(config: Any) -> Example:
    """A language model and a prompt."""
    model = hf.AutoModelForCausalLM.from_config(config)
    return Named(model, "logits", use_cache=False), {"input_ids": ids(2, 9)}


def encoder(config: Any) -> Example:
    """An encoder, two texts and the mask of the shorter one."""
    mask = torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0
    inputs = {"input_ids": ids(2, 9), "attention_mask": mask}
    return Named(hf.AutoModel.from_config(config), "last_hidden_state"), inputs


def vision(
    model: torch.nn.Module, size: int = 64, result: str = "logits", batch: int = 2
) -> Example:
    """A model of square images."""
    return Named(model, result), {"pixel_values": image(size, batch=batch)}


class _Calling(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, model: torch.nn.Module, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.model = model
        self.function = function

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        return self.function(self.model, **inputs)


def calling(model: torch.nn.Module, function: Callable[..., torch.Tensor]) -> torch.nn.Module:
    """A module that calls a function of the model and its inputs."""
    return _Calling(model, function)
