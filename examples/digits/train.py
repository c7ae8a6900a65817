#!/usr/bin/env python3
"""Trains the digit classifier and writes the model and the held-out data to this directory.

Requires python3-torch and python3-sklearn; `./dev demo` does not run it. It is seeded and
single-threaded, so the same package versions on the same machine write the same files.
"""

from __future__ import annotations

import argparse
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

SEED = 20240229
EPOCHS = 60
BATCH = 64
REQUIRED_ACCURACY = 0.97


def block(inputs: int, outputs: int, groups: int = 1, kernel: int = 3) -> nn.Sequential:
    """Convolution, batch norm, relu; the output has the size of the input image."""
    convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


def make_network() -> nn.Sequential:
    return nn.Sequential(
        OrderedDict(
            stem=block(1, 24),
            depthwise=block(24, 24, groups=24),
            pointwise=block(24, 48, kernel=1),
            halve=nn.MaxPool2d(2),
            features=block(48, 64),
            pool=nn.AdaptiveAvgPool2d(2),
            flatten=nn.Flatten(),
            hidden=nn.Linear(64 * 2 * 2, 48),
            relu=nn.ReLU(),
            classify=nn.Linear(48, 10),
        )
    )


def shifted(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Shifts each image by up to one pixel in each direction."""
    padded = functional.pad(images, (1, 1, 1, 1))
    offsets = torch.randint(0, 3, (len(images), 2), generator=generator)
    moved = [padded[i, :, y : y + 8, x : x + 8] for i, (y, x) in enumerate(offsets.tolist())]
    return torch.stack(moved)


def train(network: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    generator = torch.Generator().manual_seed(SEED)
    steps = EPOCHS * (len(images) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=4e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps)
    network.train()
    for epoch in range(EPOCHS):
        order = torch.randperm(len(images), generator=generator)
        total = 0.0
        for start in range(0, len(images) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            scores = network(shifted(images[batch], generator))
            loss = functional.cross_entropy(scores, labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {total / (len(images) // BATCH):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parent,
        help="output directory (default: %(default)s)",
    )
    out = parser.parse_args().out

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    digits = load_digits()
    pixels = digits.images.astype(np.uint8)[:, None]  # 0 .. 16
    train_x, test_x, train_y, test_y = train_test_split(
        pixels, digits.target, test_size=0.25, stratify=digits.target, random_state=SEED
    )

    network = make_network()
    train(network, torch.from_numpy(train_x).float() / 16, torch.from_numpy(train_y))
    network.eval()
    with torch.no_grad():
        held_out = torch.from_numpy(test_x).float() / 16
        logits = network(held_out).numpy()
    accuracy = float((logits.argmax(axis=1) == test_y).mean())
    print(f"{len(test_y)} held-out images, accuracy {accuracy:.2%}")
    if accuracy < REQUIRED_ACCURACY:
        raise SystemExit(f"The accuracy ({accuracy:.2%}) is below {REQUIRED_ACCURACY:.0%}.")

    torch.onnx.export(
        network,
        held_out[:1],
        str(out / "digits.onnx"),
        opset_version=16,
        training=torch.onnx.TrainingMode.PRESERVE,  # the importer folds the batch norms
        do_constant_folding=False,
        input_names=["image"],
        output_names=["logits"],
        dynamic_axes={"image": {0: "batch"}, "logits": {0: "batch"}},
    )
    np.save(out / "images.npy", test_x)
    np.save(out / "labels.npy", test_y.astype(np.uint8))
    np.save(out / "logits.npy", logits)


if __name__ == "__main__":
    main()
