"""Networks whose every operator runs on kernels: inference and training, compared with the CPU."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.torch_device.comparison import D, close, on_device
from tests.torch_device.conftest import Script
from tests.torch_device.networks import IMAGES, TEXTS, example

TOLERANCES = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 6e-2}


@pytest.mark.parametrize("name", [*IMAGES, *TEXTS])
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_inference(name: str, dtype: Any) -> None:
    module, given = example(name)
    module = module.to(dtype)
    given = given.to(dtype) if given.is_floating_point() else given
    with torch.no_grad():
        expected = module(given)
        module, given = module.to(D), given.to(D)
        with on_device():
            actual = module(given)
    close(actual, expected, TOLERANCES[dtype])


@pytest.mark.parametrize("name", [*IMAGES, *TEXTS])
def test_gradients_of_training(name: str) -> None:
    found: list[list[Any]] = []
    for device in ("cpu", D):
        module, given = example(name)
        module, given = module.to(device), given.to(device)
        for each in module.modules():  # dropout draws other numbers on the device
            each.train(not isinstance(each, torch.nn.Dropout | torch.nn.MultiheadAttention))
            if isinstance(each, torch.nn.TransformerEncoderLayer):
                each.eval()
        torch.vulkan.reset_cpu_calls()
        out = module(given)
        labels = torch.arange(out.shape[0], device=device)
        loss = F.cross_entropy(out, labels) if out.dim() == 2 else out.pow(2).mean()
        loss.backward()
        found.append([loss.detach(), *(p.grad for p in module.parameters() if p.grad is not None)])
    calls = {call: each.reason for call, each in torch.vulkan.cpu_calls().items()}
    assert not calls, calls
    assert len(found[0]) == len(found[1]) > 1
    for expected, actual in zip(*found, strict=True):
        close(actual, expected, 1e-3)


TRAINING = """
import torch
from tests.torch_device.networks import example
from torch.nn.functional import cross_entropy
torch.manual_seed(0)
module, given = example({name!r})
module = module.to("vulkan").train()
given, labels = given.to("vulkan"), torch.tensor([1, 3], device="vulkan")
optimizer = torch.optim.{optimizer}
losses = []
for step in range({steps}):
    optimizer.zero_grad()
    loss = cross_entropy(module(given), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < 0.3 * losses[0], losses
"""

LORA = """
import torch
from tests.torch_device.networks import example
from torch import nn
from torch.nn.functional import cross_entropy
torch.manual_seed(0)

class Lora(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features, device="vulkan") / 4)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, device="vulkan"))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T

module, ids = example("llama")
module, ids = module.to("vulkan").requires_grad_(False), ids.to("vulkan")
for name, each in list(module.named_children()):
    if isinstance(each, nn.Linear):
        setattr(module, name, Lora(each))
parameters = [each for each in module.parameters() if each.requires_grad]
optimizer = torch.optim.AdamW(parameters, 0.05)
losses = []
for step in range(12):
    optimizer.zero_grad()
    scores = module(ids)[:, :-1]
    loss = cross_entropy(scores.reshape(-1, 50), ids[:, 1:].reshape(-1), ignore_index=0)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert len(parameters) == 12
assert losses[-1] < 0.5 * losses[0], losses
"""


@pytest.mark.parametrize(
    "script",
    [
        TRAINING.format(name="resnet", optimizer="SGD(module.parameters(), 0.1, 0.9)", steps=12),
        TRAINING.format(name="mobilenet", optimizer="Adam(module.parameters(), 0.02)", steps=12),
        TRAINING.format(
            name="vit", optimizer="AdamW(module.parameters(), 0.01, fused=True)", steps=10
        ),
        LORA,
    ],
    ids=["cnn", "cnn_adam", "vit", "llama_lora"],
)
def test_training_without_the_cpu(run_script: Script, script: str) -> None:
    done = run_script(script, SPIRLOOM_STRICT="1")
    assert done.returncode == 0, done.stderr


def test_tied_weights_remain_one_parameter() -> None:
    module, _ = example("gpt")
    count = len(list(module.parameters()))
    module = module.to(D)
    assert len(list(module.parameters())) == count
    assert module.head.weight is module.words.weight


@pytest.mark.skipif(find_spec("transformers") is None, reason="transformers is not installed")
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "swin"])
def test_networks_of_transformers(name: str) -> None:
    import transformers

    words = {"vocab_size": 99, "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
    made = {
        "gpt2": lambda: transformers.GPT2LMHeadModel(
            transformers.GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=99, n_positions=64)
        ),
        "llama": lambda: transformers.LlamaForCausalLM(
            transformers.LlamaConfig(num_key_value_heads=2, intermediate_size=64, **words)
        ),
        "bert": lambda: transformers.BertModel(
            transformers.BertConfig(intermediate_size=64, **words)
        ),
        "swin": lambda: transformers.SwinForImageClassification(
            transformers.SwinConfig(
                image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                window_size=4,
            )
        ),
    }  # fmt: skip
    torch.manual_seed(0)
    module = made[name]().eval()
    mask = torch.tensor([[0, 0] + [1] * 7, [1] * 9])
    given = {"input_ids": torch.randint(0, 99, (2, 9)), "attention_mask": mask}
    if name == "swin":
        given = {"pixel_values": torch.randn(2, 3, 32, 32)}
    with torch.no_grad():
        expected = module(**given)[0]
        module = module.to(D)
        given = {key: value.to(D) for key, value in given.items()}
        with on_device():
            actual = module(**given)[0]
    close(actual, expected)
