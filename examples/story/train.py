#!/usr/bin/env python3
"""Trains the network on the novels of Jane Austen and writes a Hugging Face directory.

Requires python3-torch and r-cran-janeaustenr; `./dev demo` does not run it. It is seeded and
single-threaded, so the same package versions on the same machine write the same files. Training
takes 15 minutes.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import time
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from examples.story.network import CONFIG, Network  # noqa: E402
from examples.story.novels import DATA_FILE, read_novels  # noqa: E402
from examples.story.tokenizer import Tokenizer, write_tokenizer  # noqa: E402
from examples.story.vocabulary import learn  # noqa: E402

SEED = 1775
STEPS = 2000
BATCH = 4
CONTEXT = CONFIG["max_position_embeddings"]
RATE = 3e-3
HELD_OUT = 20_000  # tokens at the end of the text
REQUIRED_LOSS = 3.6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--novels",
        type=Path,
        default=DATA_FILE,
        help="Rdata.rdb of the package r-cran-janeaustenr (default: %(default)s)",
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="default: %(default)s")
    parser.add_argument(
        "--out", type=Path, default=HERE / "model", help="output directory (default: %(default)s)"
    )
    arguments = parser.parse_args()

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        text = read_novels(arguments.novels)
    except FileNotFoundError as error:
        raise SystemExit(f"train: {error}") from error
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "tokenizer.json"
    write_tokenizer(path, *learn(text, CONFIG["vocab_size"]))
    tokenizer = Tokenizer.read(path.read_text(encoding="utf-8"))
    tokens = torch.tensor(
        [token for line in text.splitlines(keepends=True) for token in tokenizer.encode(line)]
    )
    print(f"{len(text)} characters, {len(tokens)} tokens", flush=True)

    network = Network()
    train(network, tokens[:-HELD_OUT], arguments.steps)
    loss = held_out_loss(network, tokens[-HELD_OUT:])
    print(f"held-out loss: {loss:.3f} per token")
    if arguments.steps >= STEPS and loss > REQUIRED_LOSS:
        raise SystemExit(f"The held-out loss ({loss:.3f}) exceeds the maximum ({REQUIRED_LOSS}).")
    save(network, arguments.out)


def train(network: Network, tokens: torch.Tensor, steps: int) -> None:
    """Trains on random pieces of the text; the learning rate warms up, then decays to zero."""
    matrices = [p for p in network.parameters() if p.ndim > 1]
    others = [p for p in network.parameters() if p.ndim == 1]
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=RATE, total_steps=steps, pct_start=0.08, div_factor=20,
        final_div_factor=100, cycle_momentum=False,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(SEED)
    began, total = time.monotonic(), 0.0
    network.train()
    for step in range(1, steps + 1):
        starts = torch.randint(len(tokens) - CONTEXT - 1, (BATCH,), generator=generator)
        pieces = torch.stack([tokens[s : s + CONTEXT + 1] for s in starts.tolist()])
        loss = network.loss(pieces)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        if step % 50 == 0:
            took = time.monotonic() - began
            print(f"step {step}: loss {total / 50:.3f}, {took:.0f} s", flush=True)
            total = 0.0


@torch.no_grad()  # type: ignore[untyped-decorator]
def held_out_loss(network: Network, tokens: torch.Tensor) -> float:
    network.eval()
    count = (len(tokens) - 1) // CONTEXT
    pieces = tokens[: count * CONTEXT + 1].unfold(0, CONTEXT + 1, CONTEXT)
    return float(np.mean([network.loss(piece[None]).item() for piece in pieces]))


def save(network: Network, directory: Path) -> None:
    """Writes config.json and model.safetensors."""
    (directory / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n", encoding="utf-8")
    arrays = {name: value.numpy() for name, value in sorted(network.state_dict().items())}
    header, at = {}, 0
    for name, array in arrays.items():
        offsets = [at, at + array.nbytes]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        at += array.nbytes
    packed = json.dumps(header).encode()
    packed += b" " * (-len(packed) % 8)
    content = b"".join(array.tobytes() for array in arrays.values())
    model = directory / "model.safetensors"
    model.write_bytes(struct.pack("<Q", len(packed)) + packed + content)


if __name__ == "__main__":
    main()
